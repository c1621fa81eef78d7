//===- Stepper.h - An optimizer on made-up tensors ----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_STEPPER_H
#define UPDRAFT_TOOLS_BENCH_STEPPER_H

#include "LimitKernel.h"
#include "tools/harness/Optimizer.h"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace updraft::bench {

/// What a work steps: a rule and its tensors' number and size.
struct StepSetup {
  harness::RuleRequest rule;
  int64_t tensors = 1;
  int64_t elements = 0; // of each tensor
  int64_t rows = 0;     // of each tensor, if they are matrices
  int64_t listed = 0;   // so many of the rows have a gradient, others in every step; 0: all
  std::optional<upd_pool> pool = {}; // where it runs, if not on the process's threads
};

/// Parameters and gradients filled with small numbers, and an optimizer over them that has taken a
/// step.
class Stepper {
public:
  explicit Stepper(const StepSetup &setup);
  ~Stepper();

  void step();
  /// In how many steps the lists of rows come round again.
  static constexpr size_t rowLists = 16;
  /// What each pass over elements reads and writes, for the limit kernel: from the first tensor's
  /// first element on. The tensors lie one after the other if they are whole cache lines.
  std::vector<std::vector<LimitStream>> passes();
  /// Of all tensors.
  int64_t elements() const { return setup.tensors * setup.elements; }

private:
  struct Memory;

  void chooseRows();
  std::vector<LimitStream> streams(const nlohmann::json &interface, const std::string &tensors);

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
