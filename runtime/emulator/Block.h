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

  /// Runs all threads to their end, in an order that `seed` decides. False if some wait for others
  /// that have ended.
  bool run(const std::function<void()> &thread, uint64_t seed);

  /// The block that this thread of the host runs, and which of its threads has its turn.
  static Block &current();
  int64_t thread() const { return running; }

  int32_t exchange(int32_t value, int32_t distance);
  void barrier();

private:
  struct Fibre {
    ucontext_t context;
    bool ended = false;
  };
  /// What the threads of a warp give one another, this time and the time before: some may still
  /// look at that.
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
  size_t arrived = 0;    ///< at the barrier
  uint64_t barriers = 0; ///< that all threads have passed
  uint64_t progress = 0; ///< counts what lets some thread go on
};

} // namespace updraft::emulator

#endif // UPDRAFT_RUNTIME_EMULATOR_BLOCK_H
