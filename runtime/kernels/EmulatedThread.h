//===- EmulatedThread.h - The current thread of an emulated kernel ------------------*- C++ -*-===//
// Kernels call these functions on the host. The emulator defines them.

#ifndef UPDRAFT_RUNTIME_KERNELS_EMULATEDTHREAD_H
#define UPDRAFT_RUNTIME_KERNELS_EMULATEDTHREAD_H

#include <stdint.h>

extern "C" {
/// The index of the thread in its block.
int64_t updraft_emulator_thread(void);
/// The index of the block, and the number of blocks.
int64_t updraft_emulator_block(void);
int64_t updraft_emulator_blocks(void);
/// All threads of the block must call it. Returns when the last one has.
void updraft_emulator_barrier(void);
}

#endif // UPDRAFT_RUNTIME_KERNELS_EMULATEDTHREAD_H
