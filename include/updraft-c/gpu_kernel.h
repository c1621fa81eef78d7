/*===- updraft-c/gpu_kernel.h - The interface of code compiled for GPUs -----------*- C -*-===*
 * A rule that is compiled for a GPU has kernels in one module instead of the prologues and sweeps
 * of updraft-c/kernel.h. Their names, numbers and meaning are the same, and so is their descriptor.
 * R_initial and R_validate stay on the host. Calls of functions of matrices run there, except
 * transposes. If such a call has a condition, R_prologue0 is also a function of the host, as in
 * updraft-c/kernel.h, which computes the same row.
 *
 *   R_prologue0(const upd_gpu_tensor *tensors, int64_t count)
 *   R_sweep0(const upd_gpu_chunk *chunks, int64_t count, void *const *streams, const void *rows,
 *            double *partials, const upd_site *sites)
 *
 * All pointers are to memory of the GPU. Kernels are launched in one dimension, with
 * UPD_GPU_THREADS threads per block and any number of blocks. A block that has finished a part
 * takes the next one.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_GPU_KERNEL_H
#define UPDRAFT_C_GPU_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  UPD_GPU_THREADS = 256,     /* threads of a block */
  UPD_GPU_WARP_THREADS = 32, /* threads of a warp */
  UPD_GPU_ALIGNMENT = 32     /* bytes; see upd_gpu_chunk.aligned */
};

/* The arguments of a prologue for one tensor. One thread evaluates the prologue. It does nothing if
 * the skip flag of the row is set, so clear the flag before the first prologue. */
typedef struct upd_gpu_tensor {
  const double *hyper;
  const double *per_tensor;
  const double *reduced;
  const double *scalars;
  void *row;
  double *next_scalars;
} upd_gpu_tensor;

/* The loop of a sweep, and the unit for which a stream has one value. */
typedef enum upd_gpu_loop { UPD_GPU_FLAT, UPD_GPU_MATRIX, UPD_GPU_BATCH } upd_gpu_loop;
typedef enum upd_gpu_extent {
  UPD_GPU_ELEMENTS,
  UPD_GPU_ROWS,
  UPD_GPU_COLUMNS,
  UPD_GPU_BATCHES,
  UPD_GPU_SCALES /* blocks of UPD_QUANT_BLOCK elements of a row or tensor */
} upd_gpu_extent;

/* A part of one tensor, with units as in upd_range. A chunk of a flat sweep starts at a multiple of
 * UPD_LEAF_ELEMENTS and has at most that many values. A chunk of a matrix sweep is one block, and a
 * chunk of a sweep by batches is one batch. */
typedef struct upd_gpu_chunk {
  int64_t begin;
  int64_t end;
  int32_t tensor;  /* its index in the tables */
  int32_t aligned; /* nonzero if every stream of the tensor is aligned to UPD_GPU_ALIGNMENT, apart
                      from scales of blocks and streams of one value */
} upd_gpu_chunk;

/* The arguments of a sweep:
 *   chunks    `count` chunks. A block of threads runs one at a time, or eight if the sweep has
 *             reductions, rows, batches or states in blocks
 *   streams   as in upd_sweep_function; those of tensor t start at entry t * (streams of the plan)
 *   rows      the row of tensor t starts at value t * (`row_scalars` of the plan). If its skip flag
 *             is set, the tensor isn't changed
 *   partials  one value per chunk and reduction over a tensor or group; those of chunk c start at
 *             c * (number of these reductions)
 *   sites     one per tensor
 */

#ifdef __cplusplus
}
#endif
#endif
