//===- Emulator.h - Kernels for a GPU, run on the host ------------------------------*- C++ -*-===//
// What emulated kernels call. Each thread of a block is a fibre; they take turns in an order that
// is another in every block, so that what is only right in one order shows. An access outside of
// the memory of a launch, or threads that wait for one that has ended, end the process with a
// message: they are defects of the compiler. Any number of threads of the host may launch kernels.

#ifndef UPDRAFT_RUNTIME_EMULATOR_EMULATOR_H
#define UPDRAFT_RUNTIME_EMULATOR_EMULATOR_H

#include "runtime/base/Kernels.h"
#include "runtime/kernels/EmulatedThread.h"

#include <cstdint>

extern "C" {
/// What the thread of the warp whose number differs in the bits of `distance` gives in its call.
/// All threads of the warp call it.
int32_t updraft_emulator_exchange(int32_t value, int32_t distance);
/// To be called before an access.
void updraft_emulator_check(const void *address, int64_t bytes);

/// Launches the kernel of a prologue (updraft-c/gpu_kernel.h) for one tensor that is not skipped;
/// `flagBytes` of its row say so.
void updraft_emulator_prologue(updraft::runtime::EmulatedKernel kernel, int64_t flagBytes,
                               const double *hyper, const double *perTensor, const double *reduced,
                               const double *scalars, void *row, double *nextScalars);

/// Launches that of a pass with what a pass for a CPU is called with. `streamBytes` and
/// `streamExtents`: of a value of each of `streamCount` streams, and what has one; `loop` is an
/// upd_gpu_loop.
void updraft_emulator_pass(updraft::runtime::EmulatedKernel kernel, const int64_t *streamBytes,
                           const int64_t *streamExtents, int64_t streamCount, int64_t loop,
                           int64_t rowBytes, int64_t partialCount, const void *row,
                           void *const *streams, const upd_range *ranges, int64_t count,
                           double *partials, const upd_site *sites);
}

#endif // UPDRAFT_RUNTIME_EMULATOR_EMULATOR_H
