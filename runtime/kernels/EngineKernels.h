//===- EngineKernels.h - What is around the kernels of a rule -----------------------*- C++ -*-===//
// A step on a device is begin, then the rule's prologues and passes with combine* behind a pass
// that has reductions, then commit*. Of a gradient of some rows, place_rows and the passes over
// what it places come before commit. These kernels are the same for all rules. All pointers are to
// memory of the device. They run in blocks of UPD_GPU_THREADS threads, on any number of blocks.
//   updraft_fill(const Fill *, int64_t count)
//   updraft_begin(const BegunTensor *, int64_t count, const float *foundInf)
//   updraft_read_hypers(const HyperSource *, int64_t count)
//   updraft_place_rows(const PlacedRows *, int64_t count)
//   updraft_combine(const Combination *, int64_t count)
//   updraft_combine_columns(const ColumnCombination *, int64_t count)
//   updraft_combine_groups(const GroupCombination *, int64_t count)
//   updraft_commit(const BegunTensor *, int64_t count)
//   updraft_commit_groups(const GroupCommit *, int64_t count)

#ifndef UPDRAFT_RUNTIME_KERNELS_ENGINEKERNELS_H
#define UPDRAFT_RUNTIME_KERNELS_ENGINEKERNELS_H

#include "updraft-c/gpu_kernel.h"
#include "updraft-c/kernel.h"
#include "updraft-c/types.h"

#include <stdint.h>

namespace updraft::gpu {

/// `count` equal elements, of 1, 2, 4 or 8 bytes.
struct Fill {
  void *to;
  int64_t count;
  uint64_t value; ///< in its lowest bytes
  int64_t bytes;
};

/// A state that is a number.
struct ScalarState {
  void *data;
  upd_dtype dtype;
  int32_t isOfTensor; ///< else of its group
};

/// One tensor of a step. begin sets the step count and what `first` is in `facts` and `site`, loads
/// the scalar states, and has the row skipped if `foundInf` is there and not 0. commit counts the
/// step, which is then no longer the first, and stores the states of the tensor, unless the row was
/// skipped.
struct BegunTensor {
  double *facts;       ///< UPD_TENSOR_FACTS
  upd_site *site;      ///< null if the plan has none
  void *steps;         ///< how many were taken
  upd_dtype stepsType; ///< f32 or f64
  double *first;       ///< 1 before the first step, then 0
  upd_dtype compute;   ///< of the row: f32 or f64
  void *row;
  const ScalarState *states;
  double *scalars;     ///< one for each, before the step
  double *nextScalars; ///< and after it
  int64_t stateCount;
};

/// A hyperparameter that is read where the device has it.
struct HyperSource {
  double *to;
  const void *from;
  upd_dtype dtype;
};

/// Where the rows of a stream are.
struct RowStream {
  char *data;
  int64_t bytes;     ///< of a row
  int32_t isIndexed; ///< the rows of the parameter, else as the gradient has them
  int32_t isVector;  ///< a row has more than one value
};

/// Makes each row of a gradient of some rows a tensor of its own in the tables of the passes, and
/// each leaf of a row a chunk; `count` is that of the leaves of all rows. A row that the parameter
/// does not have, or with no larger index than the one before, is marked as skipped.
struct PlacedRows {
  const int64_t *indices;
  int64_t rows;     ///< of the parameter
  int64_t elements; ///< of a row
  int64_t leaves;   ///< of a row
  const RowStream *streams;
  int64_t streamCount;
  const void *row;      ///< what the prologues gave the parameter
  const upd_site *site; ///< of the parameter; null if the plan has none
  int64_t rowBytes;
  upd_dtype compute; ///< of the row: f32 or f64
  // What is written, from the first row on.
  int32_t tensor; ///< its number in the tables
  upd_gpu_chunk *leafChunks;
  upd_gpu_chunk *rowChunks;
  void **tensorStreams;
  char *tensorRows;
  upd_site *tensorSites;
};

/// `count` values that are `stride` apart become one, in place and at `result` unless that is null:
/// the upper part of the reduction tree of docs/numerics.md. Of no values it is the identity.
struct Combination {
  double *values;
  int64_t count;
  int64_t stride;
  double *result;
  int32_t isMax; ///< else a sum
};

/// Of up to UPD_GPU_THREADS columns next to each other, `blocks` values each, `stride` apart,
/// become one.
struct ColumnCombination {
  double *values; ///< of the first column
  double *result; ///< of the first column
  int64_t columns;
  int64_t blocks;
  int64_t stride;
  int32_t isMax;
};

/// What a tensor gives for a reduction over its group, and where it gets the result.
struct GroupMember {
  const double *part;
  double *result;
  const void *row;
  upd_dtype compute;
};

/// The tensors of a group that are not skipped become one, in the order of `members`.
struct GroupCombination {
  const GroupMember *members;
  int64_t count;
  double *scratch; ///< `count` values
  int32_t isMax;
};

/// What a tensor has as the next value of a state of its group.
struct GroupCandidate {
  const double *next;
  const void *row;
  upd_dtype compute;
};

/// Stores the next value of a state of a group: that of the first tensor that is not skipped.
struct GroupCommit {
  const GroupCandidate *candidates;
  int64_t count;
  void *to;
  upd_dtype dtype;
};

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_KERNELS_ENGINEKERNELS_H
