//===- EngineKernels.h - Kernels of a step that don't depend on the rule ------------*- C++ -*-===//
// A step on a device runs begin; then the rule's prologues and sweeps, with combine* after a sweep
// that has reductions, multiply* for a product and transpose; then commit*. For a gradient of some
// rows, place_rows and the sweeps over the placed rows run before commit. All pointers are to
// memory of the device. The kernels run in blocks of UPD_GPU_THREADS threads, with any number of
// blocks.
//   updraft_fill(const Fill *, int64_t count)
//   updraft_begin(const BegunTensor *, int64_t count, const float *foundInf)
//   updraft_read_hypers(const HyperSource *, int64_t count)
//   updraft_place_rows(const PlacedRows *, int64_t count)
//   updraft_combine(const Combination *, int64_t count)
//   updraft_combine_columns(const ColumnCombination *, int64_t count)
//   updraft_combine_groups(const GroupCombination *, int64_t count)
//   updraft_multiply_f32(const Product *, int64_t count, int64_t tiles)
//   updraft_multiply_f64(const Product *, int64_t count, int64_t tiles)
//   updraft_pack_bf16(const Packing *, int64_t count, int64_t units)
//   updraft_pack_f16(const Packing *, int64_t count, int64_t units)
//   updraft_multiply_bf16(const Product *, int64_t count, int64_t tiles)
//   updraft_multiply_f16(const Product *, int64_t count, int64_t tiles)
//   updraft_transpose(const Transposition *, int64_t count, int64_t tiles)
//   updraft_commit(const BegunTensor *, int64_t count)
//   updraft_commit_groups(const GroupCommit *, int64_t count)

#ifndef UPDRAFT_RUNTIME_KERNELS_ENGINEKERNELS_H
#define UPDRAFT_RUNTIME_KERNELS_ENGINEKERNELS_H

#include "updraft-c/gpu_kernel.h"
#include "updraft-c/kernel.h"
#include "updraft-c/types.h"

#include <stdint.h>

namespace updraft::gpu {

/// `count` equal elements of 1, 2, 4 or 8 bytes.
struct Fill {
  void *to;
  int64_t count;
  uint64_t value; ///< in the lowest bytes
  int64_t bytes;
};

/// A scalar state.
struct ScalarState {
  void *data;
  upd_dtype dtype;
  int32_t isOfTensor; ///< else it belongs to the group
};

/// One tensor of a step. begin sets the step count and `first` in `facts` and `sites`, loads the
/// scalar states, and sets the skip flag if `foundInf` isn't null and its value isn't 0. Unless the
/// tensor is skipped, commit increases the step count, clears `first`, and stores the states of the
/// tensor.
struct BegunTensor {
  double *facts;     ///< UPD_TENSOR_FACTS
  upd_site *sites;   ///< the first one, if any
  int64_t siteCount; ///< for the parameter, then for its square matrices if the plan has some
  int64_t siteStride;
  void *steps;         ///< number of steps taken
  upd_dtype stepsType; ///< f32 or f64
  double *first;       ///< 1 before the first step, then 0
  upd_dtype compute;   ///< type of the row: f32 or f64
  void *row;
  const ScalarState *states;
  double *scalars;     ///< one per state, before the step
  double *nextScalars; ///< and after the step; then the probes
  int64_t stateCount;
  int64_t probeCount; ///< 0 in a step that isn't probed
};

/// A tensor of a probed step.
struct ProbedTensor {
  const double *facts; ///< UPD_TENSOR_FACTS
  const double *probes;
  int64_t param;
};

/// The ring buffer of runtime/optimizer/ProbeRing.h, in memory of the host that kernels can write
/// to, and the tensors of a step, in the order of their rows.
struct ProbeRecord {
  const ProbedTensor *tensors;
  uint64_t *added; ///< the number of rows that were added, in the device's memory
  uint64_t *ring;
  int64_t capacity; ///< rows: a power of two
  int64_t probes;   ///< in a row
};

/// A hyperparameter that is read from the device's memory.
struct HyperSource {
  double *to;
  const void *from;
  upd_dtype dtype;
};

/// The location of a stream's rows.
struct RowStream {
  char *data;
  int64_t bytes;     ///< of one row
  int32_t isIndexed; ///< rows of the parameter, else in the gradient's order
  int32_t isVector;  ///< a row has more than one value
};

/// Makes each row of a gradient of some rows a tensor in the tables of the sweeps, and each leaf of
/// a row a chunk. `count` is the number of leaves of all rows. A row that the parameter doesn't
/// have, or whose index isn't larger than the previous one, is marked as skipped.
struct PlacedRows {
  const int64_t *indices;
  int64_t rows;     ///< number of rows of the parameter
  int64_t elements; ///< number of elements of a row
  int64_t leaves;   ///< number of leaves of a row
  const RowStream *streams;
  int64_t streamCount;
  const void *row;      ///< the parameter's values from the prologues
  const upd_site *site; ///< the parameter's; null if the plan doesn't use sites
  int64_t rowBytes;
  upd_dtype compute; ///< type of the row: f32 or f64
  // Output, from the first row on.
  int32_t tensor; ///< number of the first row in the tables
  upd_gpu_chunk *leafChunks;
  upd_gpu_chunk *rowChunks;
  void **tensorStreams;
  char *tensorRows;
  upd_site *tensorSites;
};

/// Combines `count` values with distance `stride` into one, in place and at `result` unless that is
/// null: the upper part of the reduction tree of docs/numerics.md. For zero values, the result is
/// the identity.
struct Combination {
  double *values;
  int64_t count;
  int64_t stride;
  double *result;
  int32_t isMax; ///< else it is a sum
};

/// Combines the values of up to UPD_GPU_THREADS adjacent columns: `blocks` values each, with
/// distance `stride`.
struct ColumnCombination {
  double *values; ///< first column
  double *result; ///< first column
  int64_t columns;
  int64_t blocks;
  int64_t stride;
  int32_t isMax;
};

/// An operand of a product: lines along its side of the result, which are rows of the left operand
/// and columns of the right one. Strides are in elements.
struct ProductOperand {
  uint32_t stream; ///< of the tensor
  int64_t lineStride;
  int64_t depthStride;
  int64_t batchStride;
};

/// The products of two matrices of a tensor, one for each batch, in the tensor's compute type. Each
/// element is the chain of fused multiply-adds of upd_product_function. With packed operands,
/// updraft_multiply_bf16 or updraft_multiply_f16 computes it: a sum in f32 of products of rounded
/// operands, in any order.
struct Product {
  void *const *streams; ///< of the tensor
  const void *row;      ///< its values from the prologues: if it is skipped, nothing is computed
  int64_t condition;    ///< the position in the row of a flag that must be set, or 0
  upd_dtype compute;
  ProductOperand lhs, rhs;
  uint32_t result; ///< a stream; elements of a row are adjacent
  int64_t rowStride;
  int64_t batchStride;
  int64_t rows;
  int64_t columns;
  int64_t depth;
  int32_t isSymmetric; ///< computes elements up to the diagonal, and copies them across it
  int64_t firstTile;   ///< the number of tiles of the products before this one
  const void *packedLhs = nullptr; ///< null if the operands aren't packed
  const void *packedRhs = nullptr;
};

/// The rows and columns of a tile, for elements of `bytes`. A block computes one at a time.
constexpr int64_t productTileSide(uint64_t bytes) { return bytes == 4 ? 128 : 64; }

/// The tiles along a side of a result.
constexpr int64_t productTilesAlong(int64_t size, uint64_t bytes) {
  return (size + productTileSide(bytes) - 1) / productTileSide(bytes);
}

/// The tiles of one batch. A symmetric result has square tiles up to the diagonal.
constexpr int64_t productTilesOf(const Product &product, uint64_t bytes) {
  const int64_t rows = productTilesAlong(product.rows, bytes);
  return product.isSymmetric ? rows * (rows + 1) / 2
                             : rows * productTilesAlong(product.columns, bytes);
}

/// The rows and columns of a tile of a product of rounded operands, and the depth and bytes of the
/// strips of its operands.
constexpr int roundedTileSide = 128, roundedStripDepth = 32;
constexpr int64_t roundedStripBytes = int64_t(roundedTileSide) * roundedStripDepth * 2;

constexpr int64_t roundedStrips(int64_t depth) {
  return (depth + roundedStripDepth - 1) / roundedStripDepth;
}

/// Rounds an operand of a product, and stores it in the order of runtime/kernels/RoundedTile.h.
struct Packing {
  void *const *streams; ///< of the tensor
  const void *row;      ///< as in Product
  int64_t condition;
  ProductOperand operand;
  int64_t lines;
  int64_t depth;
  int64_t batches;
  void *to;          ///< aligned to 16 bytes
  int64_t firstUnit; ///< the number of units of the packings before this one

  constexpr int64_t bytesOfBatch() const {
    return productTilesAlong(lines, sizeof(float)) * roundedStrips(depth) * roundedStripBytes;
  }
  /// A unit is the part of a strip that a warp packs at once: its lines, with 16 elements each.
  constexpr int64_t unitsOfBatch() const { return bytesOfBatch() / (roundedTileSide * 16 * 2); }
};

/// Transposes the matrices of a tensor, one for each batch.
struct Transposition {
  void *const *streams; ///< of the tensor
  const void *row;      ///< as in Product
  int64_t condition;
  upd_dtype compute;
  uint32_t from, to; ///< streams
  int64_t rows;      ///< of `from`
  int64_t columns;
  int64_t batches;
  int64_t firstTile; ///< the number of tiles of the transpositions before this one

  /// The rows and columns of a tile, which a block copies at a time.
  static constexpr int64_t side = 32;
  constexpr int64_t tilesAlong(int64_t size) const { return (size + side - 1) / side; }
  constexpr int64_t tiles() const { return batches * tilesAlong(rows) * tilesAlong(columns); }
};

/// A tensor's value for a reduction over its group, and the destination of the result.
struct GroupMember {
  const double *part;
  double *result;
  const void *row;
  upd_dtype compute;
};

/// Combines the values of the tensors of a group that aren't skipped, in the order of `members`.
struct GroupCombination {
  const GroupMember *members;
  int64_t count;
  double *scratch; ///< `count` values
  int32_t isMax;
};

/// A tensor's next value of a state of its group.
struct GroupCandidate {
  const double *next;
  const void *row;
  upd_dtype compute;
};

/// Stores the next value of a group's state, from the first tensor that isn't skipped.
struct GroupCommit {
  const GroupCandidate *candidates;
  int64_t count;
  void *to;
  upd_dtype dtype;
};

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_KERNELS_ENGINEKERNELS_H
