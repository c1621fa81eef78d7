//===- Stepper.h - An optimizer on made-up tensors ----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_STEPPER_H
#define UPDRAFT_TOOLS_BENCH_STEPPER_H

#include "LimitKernel.h"
#include "updraft-c/optimizer.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace updraft::bench {

/// Throws std::runtime_error with the library's message unless `status` is UPD_OK.
void check(upd_status status);

/// What a work steps: a rule and its tensors' number, size and storage.
struct StepSetup {
  std::string ruleFile;
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::pair<std::string, upd_dtype>> storage;
  std::vector<std::string> readOnly; // states that a step reads and leaves as they are
  int64_t tensors = 1;
  int64_t elements = 0; // of each tensor
};

/// Parameters and gradients filled with small numbers, and an optimizer over them that has taken a
/// step.
class Stepper {
public:
  explicit Stepper(const StepSetup &setup);
  ~Stepper();

  void step();
  /// The streams of the first tensor, for the limit kernel.
  std::vector<LimitStream> streams();
  int64_t elements() const { return setup.elements; }

private:
  struct Memory;

  StepSetup setup;
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<upd_tensor> params, grads;
  upd_rule *rule = nullptr;
  upd_optimizer *optimizer = nullptr;
};

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_STEPPER_H
