//===- Launch.h - A kernel and the memory that it may access ------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_EMULATOR_LAUNCH_H
#define UPDRAFT_RUNTIME_EMULATOR_LAUNCH_H

#include "runtime/base/Kernels.h"

#include <cstdint>
#include <vector>

namespace updraft::emulator {

class Launch {
public:
  /// Null or zero bytes allow nothing.
  void allow(const void *data, int64_t bytes);

  /// Runs the kernel, one block after another. Ends the process with a message if threads wait for
  /// others that have finished.
  void run(runtime::EmulatedKernel kernel, void **arguments, int64_t blocks);

  /// Ends the process with a message if an access isn't inside the allowed memory.
  void check(const void *address, int64_t bytes) const;

  int64_t block() const { return number; }
  int64_t blocks() const { return count; }

  /// The launch that this host thread runs.
  static Launch &current();

private:
  struct Memory {
    uintptr_t begin, end;
  };

  void mergeOverlaps();
  [[noreturn]] void fail(const char *what) const;

  std::vector<Memory> memory;
  int64_t number = 0, count = 0;
};

} // namespace updraft::emulator

#endif // UPDRAFT_RUNTIME_EMULATOR_LAUNCH_H
