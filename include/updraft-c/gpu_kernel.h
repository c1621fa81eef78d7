/*===- updraft-c/gpu_kernel.h - The interface of code compiled for GPUs -----------*- C -*-===*
 * A rule that is compiled for a GPU has, in place of the prologues and passes of
 * updraft-c/kernel.h, one kernel each, in one module. Names, numbering and meaning are the same, so
 * that the same JSON describes both; R_initial and R_validate stay on the host.
 *
 *   R_prologue0(const upd_gpu_tensor *tensors, int64_t count)
 *   R_pass0(const upd_gpu_chunk *chunks, int64_t count, void *const *streams, const void *rows,
 *           double *partials, const upd_site *sites)
 *
 * Every pointer is to memory of the device. All kernels run in one dimension, in blocks of
 * UPD_GPU_THREADS threads, and on any number of blocks: who is through with a part takes the next.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_GPU_KERNEL_H
#define UPDRAFT_C_GPU_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  UPD_GPU_THREADS = 256,     /* in a block */
  UPD_GPU_WARP_THREADS = 32, /* that go through one chunk of a pass as below */
  UPD_GPU_ALIGNMENT = 32     /* in bytes, of the streams of a chunk that is marked as aligned */
};

/* What a prologue is evaluated with for one tensor, by one thread; nothing is done where the row
 * says that the step is skipped, so before the first prologue the flag is to be 0. */
typedef struct upd_gpu_tensor {
  const double *hyper;
  const double *per_tensor;
  const double *reduced;
  const double *scalars;
  void *row;
  double *next_scalars;
} upd_gpu_tensor;

/* What a pass goes through, by `loop` of the JSON, and what has a value in a stream. */
typedef enum upd_gpu_loop { UPD_GPU_FLAT, UPD_GPU_MATRIX, UPD_GPU_BATCH } upd_gpu_loop;
typedef enum upd_gpu_extent {
  UPD_GPU_ELEMENTS,
  UPD_GPU_ROWS,
  UPD_GPU_COLUMNS,
  UPD_GPU_BATCHES,
  UPD_GPU_SCALES /* blocks of UPD_QUANT_BLOCK elements, in a row or in a tensor */
} upd_gpu_extent;

/* A part of one tensor. Of a flat pass: up to UPD_LEAF_ELEMENTS of what it is over, from a multiple
 * of that on. Of a matrix pass one block, and of a pass by batches one batch, as in upd_range. */
typedef struct upd_gpu_chunk {
  int64_t begin;
  int64_t end;
  int32_t tensor;  /* its number in the tables */
  int32_t aligned; /* nonzero if every stream of the tensor, but for the scales of blocks and for
                      streams of one value, starts at UPD_GPU_ALIGNMENT */
} upd_gpu_chunk;

/* The arguments of a pass:
 *   chunks    `count` of them. A block goes through one, or through eight at once where the pass
 *             has reductions, rows, batches or states in blocks
 *   streams   of tensor t, as in upd_pass_function, from entry t * the plan's number of streams
 *   rows      of tensor t, from value t * the plan's `row_scalars`. Where a row says that the step
 *             is skipped, nothing is done
 *   partials  of chunk c, one value per reduction over a tensor or group, from c * their number
 *   sites     one per tensor
 */

#ifdef __cplusplus
}
#endif
#endif
