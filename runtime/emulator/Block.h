//===- Block.h - The threads of one block -------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_EMULATOR_BLOCK_H
#define UPDRAFT_RUNTIME_EMULATOR_BLOCK_H

#include "updraft-c/gpu_kernel.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <ucontext.h>
#include <vector>

namespace updraft::emulator {

/// UPD_GPU_THREADS fibres that run the same function.
class Block {
public:
  Block();

  /// Runs all threads until they finish, in an order derived from `seed`. Returns false on a
  /// deadlock: some threads wait for others that have finished.
  bool run(const std::function<void()> &thread, uint64_t seed);

  /// The block that this host thread runs, and its current thread.
  static Block &current();
  int64_t thread() const { return running; }

  int32_t exchange(int32_t value, int32_t distance);
  void barrier();

private:
  struct Fibre {
    ucontext_t context;
    bool ended = false;
  };
  /// The values that the threads of a warp exchange, in this round and the previous one: some
  /// threads may still read that.
  struct Warp {
    int32_t values[2][UPD_GPU_WARP_THREADS];
    int arrived = 0;
    uint64_t exchanges = 0;
  };

  static void enter();
  void yield();

  const std::function<void()> *function = nullptr;
  ucontext_t scheduler;
  std::vector<Fibre> fibres;
  std::vector<Warp> warps;
  std::unique_ptr<char[]> stacks;
  int64_t running = 0;
  size_t arrived = 0;    ///< number of threads at the barrier
  uint64_t barriers = 0; ///< number of completed barriers
  uint64_t progress = 0; ///< number of events that let a thread continue
};

} // namespace updraft::emulator

#endif // UPDRAFT_RUNTIME_EMULATOR_BLOCK_H
