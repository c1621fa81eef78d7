//===- Recording.h - Steps for other machines to repeat -----------------------------*- C++ -*-===//
// With the environment variable UPDRAFT_RECORD_STEPS set to a folder, comparisons also write what
// they did: a package of the rule, the inputs of all steps, and the results. Another machine
// repeats that with unittests/Replay.
//
// A recording is a safetensors file. Its metadata `steps` is JSON:
//   {"steps": 3, "seed": "7", "groups": [20, 10], "changes": [[step, hyperparameter, value]],
//    "states": [[parameter, state, dtype, shape]]}
// Its tensors are `package`; `param/P`, `state/P/STATE` (bytes) and `grad/P/S` for each parameter
// and, from 1 on, each step with a gradient; `expected/param/P` and `expected/state/P/STATE`.

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_RECORDING_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_RECORDING_H

#include "RuleCase.h"
#include "runtime/base/Safetensors.h"
#include "updraft-c/optimizer.h"

#include "llvm/ADT/ArrayRef.h"

#include <nlohmann/json.hpp>

namespace updraft::differential {

class Recording {
public:
  /// Returns null if UPDRAFT_RECORD_STEPS isn't set. UPDRAFT_RECORD_TARGETS are the targets of the
  /// package: "x86-64-v2,aarch64" by default.
  static std::unique_ptr<Recording> start(const RuleCase &ruleCase);

  /// The parameters of all groups, and how many each group has.
  void setParams(llvm::ArrayRef<upd_tensor> params, llvm::ArrayRef<size_t> groups, uint64_t seed);
  /// A state that the caller gave: `bytes` bytes.
  void addState(size_t param, const std::string &name, const upd_tensor &state, size_t bytes);
  /// A hyperparameter of all groups, before the next step.
  void addChange(const std::string &name, double value);
  void addStep(llvm::ArrayRef<upd_tensor> grads);
  /// Adds the results, and writes the file.
  void finish(upd_rule &rule, upd_optimizer &optimizer, llvm::ArrayRef<upd_tensor> params);

private:
  explicit Recording(std::string folder) : folder(std::move(folder)) {}
  void add(const std::string &name, const upd_tensor &tensor);
  void addBytes(const std::string &name, runtime::SafetensorsType type, std::vector<int64_t> shape,
                std::string bytes);

  std::string folder;
  nlohmann::json description;
  runtime::SafetensorsWriter file;
};

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_RECORDING_H
