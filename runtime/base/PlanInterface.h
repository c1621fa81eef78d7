//===- PlanInterface.h - The description of a compiled plan -------------------------*- C++ -*-===//
// A plan contains the prologues and sweeps of a step for tensors of one class. updraft-c/kernel.h
// defines the terms.

#ifndef UPDRAFT_RUNTIME_BASE_PLANINTERFACE_H
#define UPDRAFT_RUNTIME_BASE_PLANINTERFACE_H

#include "runtime/base/MatrixFunction.h"
#include "updraft-c/descriptor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace updraft::runtime {

/// As upd_extent: the unit that has one value.
enum class Extent : uint8_t {
  Group = UPD_EXTENT_GROUP,
  Tensor = UPD_EXTENT_TENSOR,
  Batch = UPD_EXTENT_BATCH,
  Row = UPD_EXTENT_ROW,
  Column = UPD_EXTENT_COLUMN,
  Element = UPD_EXTENT_ELEMENT,
  RowsByRows = UPD_EXTENT_ROWS_BY_ROWS,
  ColumnsByColumns = UPD_EXTENT_COLUMNS_BY_COLUMNS,
  ChosenByColumns = UPD_EXTENT_CHOSEN_BY_COLUMNS,
  RowsByChosen = UPD_EXTENT_ROWS_BY_CHOSEN,
  ChosenByChosen = UPD_EXTENT_CHOSEN_BY_CHOSEN
};

/// The word of the extent in the language: "element".
const char *nameOf(Extent over);

/// Whether a tensor of matrices has a matrix of values over the extent.
inline bool isMatrix(Extent over) { return over >= Extent::Element; }

/// Whether a tensor of matrices has square matrices of values over the extent.
inline bool isSquare(Extent over) {
  return over == Extent::RowsByRows || over == Extent::ColumnsByColumns;
}

/// A side of a matrix: the parameter's rows or columns, or the chosen ones of these.
enum class Side : uint8_t { Rows, Columns, Chosen };

struct Sides {
  Side down, along;
  bool operator==(const Sides &) const = default;
};

/// The sides of the matrices over an extent.
Sides sidesOf(Extent matrices);

inline bool isScalar(Extent over) { return over == Extent::Group || over == Extent::Tensor; }

/// As upd_tensors: all, those with fewer than two dimensions, or those with two or more.
enum class TensorClass : uint8_t {
  Any = UPD_ALL_TENSORS,
  Vector = UPD_VECTORS,
  Matrix = UPD_MATRICES
};

/// The shapes of matrices that a plan is for, as bits. Those of upd_plan_record::flags.
constexpr uint32_t WideMatrices = UPD_PLAN_WIDE;     // fewer rows than columns
constexpr uint32_t SquareMatrices = UPD_PLAN_SQUARE; // as many
constexpr uint32_t TallMatrices = UPD_PLAN_TALL;     // more
constexpr uint32_t AllMatrices = WideMatrices | SquareMatrices | TallMatrices;

/// The positions of the streams that every plan has.
struct StreamIndex {
  static constexpr size_t Param = 0;
  static constexpr size_t Grad = 1;
  static constexpr size_t FirstState = 2;
};

/// One of a plan's streams.
struct StreamInterface {
  enum class Kind : uint8_t {
    Param = UPD_STREAM_PARAM,
    Grad = UPD_STREAM_GRAD,
    State = UPD_STREAM_STATE,
    Scales = UPD_STREAM_SCALES,
    Temporary = UPD_STREAM_TEMPORARY
  };
  static constexpr uint32_t none = ~uint32_t(0);
  Kind kind;
  upd_dtype dtype;
  Extent over;
  uint32_t state = none;  // the state's number, if it is a state
  uint32_t scales = none; // the stream of its blocks' scales, if any
};

struct ReductionInterface {
  enum class Kind : uint8_t { Sum = UPD_REDUCTION_SUM, Max = UPD_REDUCTION_MAX };
  Kind kind;
  Extent over;       // not Element
  uint32_t into = 0; // for rows, columns or batches: the stream of the result, a temporary
};

/// Lists of numbers contain stream numbers.
struct SweepInterface {
  std::vector<uint32_t> reads;
  std::vector<uint32_t> writes;
  std::vector<uint32_t> makes = {}; // temporaries
  std::vector<ReductionInterface> reductions = {};
  Extent over = Extent::Element; // not Tensor or Group
  bool isMatrix = false;         // ranges are blocks of rows
  bool isBatches = false;        // for a sweep over rows or columns: ranges are batches

  /// The number of reductions with one value per tensor or group.
  size_t scalarReductions() const;
};

/// A reduction with one value per tensor or group.
struct ScalarReduction {
  ReductionInterface::Kind kind;
  bool ofGroup;
  uint32_t index; // index among the reductions over groups, or among those over both
};

/// The scalar reductions of a plan, numbered over its sweeps.
struct ScalarReductions {
  std::vector<std::vector<ScalarReduction>> ofSweeps;
  std::vector<uint32_t> overGroups; // for each reduction over groups, its number among all
  uint32_t count = 0;
};

/// A product of two matrices, which may add a third one, and may then be added to a target. Its
/// members are stream numbers.
struct ProductInterface {
  uint32_t lhs, rhs, result;
  bool lhsTransposed = false, rhsTransposed = false;
  bool symmetric = false;                      // elements above the diagonal are those below it
  std::optional<upd_dtype> operandFormat = {}; // bf16 or f16: operands may be rounded to it
  std::optional<uint32_t> addend = {};
  // Positions in the row of what the product and the addend are multiplied by, or 0.
  uint32_t scale = 0, addendScale = 0;
  std::optional<uint32_t> target = {}; // the parameter or a state; the result is then unspecified
  // The same of the sum and the target.
  uint32_t sumScale = 0, targetScale = 0;
};

/// A call of a function of matrices. Its members are stream numbers.
struct CallInterface {
  MatrixFunction function;
  std::vector<uint32_t> operands;
  uint32_t result;
};

/// A prologue, sweep, product or call of a plan, by number.
struct StageInterface {
  enum class Kind : uint8_t {
    Prologue = UPD_STAGE_PROLOGUE,
    Sweep = UPD_STAGE_SWEEP,
    Product = UPD_STAGE_PRODUCT,
    Call = UPD_STAGE_CALL
  };
  Kind kind;
  uint32_t index;
  bool byTensor = false;  // for a prologue; else all tensors of a group with the same step and
                          // first get the same result
  uint32_t condition = 0; // for others: the position in the row of the flag, or 0

  static StageInterface prologue(uint32_t index, bool byTensor = false) {
    return {Kind::Prologue, index, byTensor};
  }
  static StageInterface sweep(uint32_t index) { return {Kind::Sweep, index}; }
  static StageInterface product(uint32_t index) { return {Kind::Product, index}; }
  static StageInterface call(uint32_t index) { return {Kind::Call, index}; }

  bool isPrologue() const { return kind == Kind::Prologue; }
  bool isSweep() const { return kind == Kind::Sweep; }
};

struct PlanInterface {
  TensorClass tensors = TensorClass::Any;
  uint32_t shapes = AllMatrices; // of matrices
  double chosen = 0;             // the part of the shorter side that is chosen, or 0
  std::string prefix;            // prefix of the names of the functions
  uint32_t rowScalars = 1;       // in the compute type, including the skip flag
  bool usesRandom = false;
  bool skips = false;    // the skip flag may be set
  bool isProbed = false; // its prologues compute the rule's probes
  uint32_t prologues = 0;
  std::vector<StreamInterface> streams; // the last are temporaries
  uint32_t firstTemporary = 0;          // its stream, or the number of streams
  std::vector<uint32_t> scalarStates;   // the numbers of the states over a tensor or group
  std::vector<SweepInterface> sweeps;
  std::vector<ProductInterface> products;
  std::vector<CallInterface> calls;
  std::vector<StageInterface> sequence; // each prologue, sweep, product and call once, in order
  // Pairs of conditions, of which at most one holds for a tensor in a step. Ascending; the first of
  // a pair is the smaller one.
  std::vector<std::pair<uint32_t, uint32_t>> exclusiveConditions;

  /// Memory for the time of a step, with one value per row, column or batch.
  std::span<const StreamInterface> temporaries() const {
    return std::span(streams).subspan(firstTemporary);
  }

  /// Whether the plan is for a tensor of a class with these sizes.
  bool isFor(TensorClass tensor, int64_t rows, int64_t columns) const {
    const uint32_t shape = rows < columns    ? WideMatrices
                           : rows == columns ? SquareMatrices
                                             : TallMatrices;
    return tensors == TensorClass::Any ||
           (tensors == tensor && (tensor != TensorClass::Matrix || (shapes & shape) != 0));
  }
  /// The number of rows or columns that the plan chooses of a matrix.
  int64_t chosenOf(int64_t rows, int64_t columns) const;
  /// Whether the plan has products or calls, which read whole matrices.
  bool hasWholeMatrices() const { return !products.empty() || !calls.empty(); }
  /// Whether the plan has a call that needs LAPACK.
  bool needsLapack() const;
  /// Returns the end of the calls from `stage` on that can run at once: none makes what another
  /// reads or makes. Some of them may have kernels on GPUs, or all, or none.
  size_t callsEndFrom(size_t stage) const;
  /// Whether at most one of two stages runs for a tensor in a step.
  bool areExclusive(const StageInterface &first, const StageInterface &second) const;
  /// Returns the first call that the host computes for a GPU, or null.
  const CallInterface *hostCall() const;
  /// Whether such a call has a condition. Code for a GPU then has the first prologue for the host,
  /// too.
  bool hasHostConditions() const;
  /// Whether the plan depends on the positions of rows and columns in memory.
  bool usesRows() const;
  /// The reductions over groups, of all sweeps in order.
  std::vector<ReductionInterface::Kind> groupReductions() const;
  ScalarReductions scalarReductions() const;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_PLANINTERFACE_H
