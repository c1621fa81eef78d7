//===- Emulator.h - Runs GPU kernels on the host ------------------------------------*- C++ -*-===//
// The functions that emulated kernels call. Each thread of a block is a fibre. The order of fibres
// differs between blocks, so that code that is correct in only one order fails. An access outside
// of the memory of a launch, or a deadlock of threads, ends the process with a message, because it
// is a bug in the compiler. Several host threads may launch kernels at the same time.

#ifndef UPDRAFT_RUNTIME_EMULATOR_EMULATOR_H
#define UPDRAFT_RUNTIME_EMULATOR_EMULATOR_H

#include "runtime/base/Kernels.h"
#include "runtime/kernels/EmulatedThread.h"

#include <cstdint>

extern "C" {
/// Exchanges a value with the thread of the warp whose number differs in the bits of `distance`.
/// All threads of the warp must call it.
int32_t updraft_emulator_exchange(int32_t value, int32_t distance);
/// Call this before an access.
void updraft_emulator_check(const void *address, int64_t bytes);

/// Launches the kernel of a prologue (updraft-c/gpu_kernel.h) for one tensor that is not skipped.
/// The first `flagBytes` of its row are the skip flag.
void updraft_emulator_prologue(updraft::runtime::EmulatedKernel kernel, int64_t flagBytes,
                               const double *hyper, const double *perTensor, const double *reduced,
                               const double *scalars, void *row, double *nextScalars);

/// Launches the kernel of a sweep, with the arguments of a sweep for a CPU. `streamBytes` and
/// `streamExtents` have, for each of `streamCount` streams, the bytes and the extent of a value.
/// `loop` is an upd_gpu_loop.
void updraft_emulator_sweep(updraft::runtime::EmulatedKernel kernel, const int64_t *streamBytes,
                            const int64_t *streamExtents, int64_t streamCount, int64_t loop,
                            int64_t rowBytes, int64_t partialCount, const void *row,
                            void *const *streams, const upd_range *ranges, int64_t count,
                            double *partials, const upd_site *sites);

/// R_product and R_mirror of a rule for the emulator. The engine's kernel computes whole results.
void updraft_emulator_multiply_f32(const upd_product *product);
void updraft_emulator_multiply_f64(const upd_product *product);
void updraft_emulator_mirror_f32(void *matrix, int64_t row_distance, int64_t begin, int64_t end);
void updraft_emulator_mirror_f64(void *matrix, int64_t row_distance, int64_t begin, int64_t end);
}

#endif // UPDRAFT_RUNTIME_EMULATOR_EMULATOR_H
