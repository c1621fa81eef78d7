//===- Stepper.h - An optimizer over generated tensors ------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_STEPPER_H
#define UPDRAFT_TOOLS_BENCH_STEPPER_H

#include "LimitKernel.h"
#include "runtime/base/RuleInterface.h"
#include "tools/harness/Optimizer.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace updraft::bench {

/// A rule, and the number and size of its tensors.
struct StepSetup {
  harness::RuleRequest rule;
  int64_t tensors = 1;
  int64_t elements = 0; // of each tensor
  int64_t rows = 0;     // of each tensor, if they are matrices
  int64_t listed = 0;   // number of rows with a gradient, other rows in every step; 0: all
  std::optional<upd_pool> pool = {}; // threads to run on; empty: those of the process
};

/// Parameters and gradients filled with small numbers, and an optimizer over them that has taken
/// one step.
class Stepper {
public:
  explicit Stepper(const StepSetup &setup);
  ~Stepper();

  void step();
  /// For callers that step in another way.
  upd_optimizer *handle() { return optimizer.get(); }
  const std::vector<upd_tensor> &parameters() const { return params; }
  const std::vector<upd_tensor> &gradients() const { return grads; }
  /// The number of steps after which the lists of rows repeat.
  static constexpr size_t rowLists = 16;
  /// The streams that each sweep over elements reads and writes, for the limit kernel, from the
  /// first element of the first tensor on. The tensors are contiguous if they are whole cache
  /// lines.
  std::vector<std::vector<LimitStream>> sweeps();
  /// The total over all tensors.
  int64_t elements() const { return setup.tensors * setup.elements; }

private:
  struct Memory;

  void chooseRows();
  std::vector<LimitStream> streams(const runtime::RuleInterface &rule,
                                   const runtime::PlanInterface &plan);

  StepSetup setup;
  std::vector<int64_t> shape;
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<upd_tensor> params, grads;
  std::vector<int64_t> gradShape;
  std::vector<std::vector<int64_t>> lists; // of rows
  size_t nextList = 0;
  harness::Rule rule;
  harness::Optimizer optimizer;
};

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_STEPPER_H
