//===- PlanInterface.h - The description of a compiled plan -------------------------*- C++ -*-===//
// A plan contains the prologues and passes of a step for tensors of one class. updraft-c/kernel.h
// defines the terms.

#ifndef UPDRAFT_RUNTIME_BASE_PLANINTERFACE_H
#define UPDRAFT_RUNTIME_BASE_PLANINTERFACE_H

#include "updraft-c/types.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace updraft::runtime {

/// The unit that has one value.
enum class Extent : uint8_t { Group, Tensor, Batch, Row, Column, Element };

inline bool isScalar(Extent over) { return over == Extent::Group || over == Extent::Tensor; }

/// The class of tensors: all, those with fewer than two dimensions, or those with two or more.
enum class TensorClass : uint8_t { Any, Vector, Matrix };

struct ReductionInterface {
  enum class Kind : uint8_t { Sum, Max };
  Kind kind;
  Extent over;       // not Element
  uint32_t into = 0; // for rows, columns or batches: the stream of the result, a temporary
};

/// Lists of numbers contain stream numbers.
struct PassInterface {
  std::vector<uint32_t> reads;
  std::vector<uint32_t> writes;
  std::vector<uint32_t> makes = {}; // temporaries
  std::vector<ReductionInterface> reductions = {};
  Extent over = Extent::Element; // or Row, Column, Batch
  bool isMatrix = false;         // ranges are blocks of rows
  bool isBatches = false;        // for a pass over rows or columns: ranges are batches

  /// The number of reductions with one value per tensor or group.
  size_t scalarReductions() const;
};

/// A reduction with one value per tensor or group.
struct ScalarReduction {
  ReductionInterface::Kind kind;
  bool ofGroup;
  uint32_t index; // index among the reductions over groups, or among those over both
};

/// The scalar reductions of a plan, numbered over its passes.
struct ScalarReductions {
  std::vector<std::vector<ScalarReduction>> ofPasses;
  std::vector<uint32_t> overGroups; // for each reduction over groups, its number among all
  uint32_t count = 0;
};

/// Memory of a plan with one value per row, column or batch.
struct TemporaryInterface {
  upd_dtype dtype;
  Extent over;
};

/// A prologue or a pass of a plan, by number.
struct StageInterface {
  bool isPass;
  uint32_t index;
  bool byTensor = false; // for a prologue; else all tensors of a group with the same step and
                         // first get the same result
};

struct PlanInterface {
  TensorClass tensors = TensorClass::Any;
  std::string prefix;      // prefix of the names of the functions
  uint32_t rowScalars = 1; // in the compute type, including the skip flag
  bool usesRandom = false;
  uint32_t prologues = 0;
  std::vector<TemporaryInterface> temporaries;
  std::vector<PassInterface> passes;
  std::vector<StageInterface> sequence; // each prologue and pass once, both in order

  /// The reductions over groups, of all passes in order.
  std::vector<ReductionInterface::Kind> groupReductions() const;
  ScalarReductions scalarReductions() const;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_PLANINTERFACE_H
