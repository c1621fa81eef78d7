//===- EmulatedThread.h - Who an emulated thread of a kernel is ---------------------*- C++ -*-===//
// Kernels call these functions on the host. The emulator, which runs kernels, defines them.

#ifndef UPDRAFT_RUNTIME_KERNELS_EMULATEDTHREAD_H
#define UPDRAFT_RUNTIME_KERNELS_EMULATEDTHREAD_H

#include <stdint.h>

extern "C" {
/// The number of the thread in its block.
int64_t updraft_emulator_thread(void);
/// The number of the block, and how many blocks there are.
int64_t updraft_emulator_block(void);
int64_t updraft_emulator_blocks(void);
/// All threads of the block call it, and return when the last one has.
void updraft_emulator_barrier(void);
}

#endif // UPDRAFT_RUNTIME_KERNELS_EMULATEDTHREAD_H
