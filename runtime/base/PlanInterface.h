//===- PlanInterface.h - What a compiled plan says about itself ---------------------*- C++ -*-===//
// A plan is what the tensors of one class need for a step: prologues and passes in sequence. The
// words are those of updraft-c/kernel.h.

#ifndef UPDRAFT_RUNTIME_BASE_PLANINTERFACE_H
#define UPDRAFT_RUNTIME_BASE_PLANINTERFACE_H

#include "updraft-c/types.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace updraft::runtime {

/// What has one value of its own.
enum class Extent : uint8_t { Group, Tensor, Batch, Row, Column, Element };

inline bool isScalar(Extent over) { return over == Extent::Group || over == Extent::Tensor; }

/// Which tensors: all, those of less than two dimensions, or those of two or more.
enum class TensorClass : uint8_t { Any, Vector, Matrix };

struct ReductionInterface {
  enum class Kind : uint8_t { Sum, Max };
  Kind kind;
  Extent over;       // not Element
  uint32_t into = 0; // over rows, columns or batches: the stream of the result, a temporary
};

/// Lists of numbers are those of streams.
struct PassInterface {
  std::vector<uint32_t> reads;
  std::vector<uint32_t> writes;
  std::vector<uint32_t> makes = {}; // temporaries
  std::vector<ReductionInterface> reductions = {};
  Extent over = Extent::Element; // or Row, Column, Batch
  bool isMatrix = false;         // ranges are blocks of rows
  bool isBatches = false;        // of a pass over rows or columns: ranges are batches

  /// How many reductions have one value for a tensor or group.
  size_t scalarReductions() const;
};

/// A reduction with one value for a tensor or group.
struct ScalarReduction {
  ReductionInterface::Kind kind;
  bool ofGroup;
  uint32_t index; // among those over groups, or among those over both
};

/// Those of a plan, numbered over its passes.
struct ScalarReductions {
  std::vector<std::vector<ScalarReduction>> ofPasses;
  std::vector<uint32_t> overGroups; // of those over groups, their numbers among all
  uint32_t count = 0;
};

/// Memory of the plan for one value per row, column or batch.
struct TemporaryInterface {
  upd_dtype dtype;
  Extent over;
};

/// One of the plan's prologues or passes, by its number.
struct StageInterface {
  bool isPass;
  uint32_t index;
  bool byTensor = false; // of a prologue; else it gives tensors of a group the same if step and
                         // first are the same
};

struct PlanInterface {
  TensorClass tensors = TensorClass::Any;
  std::string prefix;      // of the names of its functions
  uint32_t rowScalars = 1; // of the compute type, the skip flag included
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
