//===- Batch.h - Parameters that step together --------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_RUN_BATCH_H
#define UPDRAFT_TOOLS_RUN_BATCH_H

#include "ProbeTable.h"
#include "RunOptions.h"
#include "Storage.h"
#include "TensorFile.h"
#include "runtime/base/RuleInterface.h"
#include "updraft-c/optimizer.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace updraft::run {

/// A group of parameters with the same storage types, the rule compiled for them, and an optimizer.
class Batch {
public:
  Batch() = default;
  Batch(const Batch &) = delete;
  Batch &operator=(const Batch &) = delete;
  ~Batch();

  /// Adds the parameter if its storage types match, and returns whether it was added. `number`
  /// selects its random numbers.
  bool add(const std::string &name, Parameter &parameter, uint64_t number);

  runtime::Status compile(const RunOptions &options);
  /// Creates the optimizer and gives it the states from the file.
  runtime::Status prepare(std::optional<uint64_t> seed);
  runtime::Status step();
  /// Adds the probes of the steps since the last call.
  runtime::Status addProbes(ProbeTable &table) {
    return table.add(description, optimizer, names, probeCursor);
  }
  /// Copies the optimizer's states and step counts to the parameters.
  runtime::Status collect();

  const runtime::RuleInterface &interface() const { return description; }
  bool hasGradients() const;
  /// Whether any parameter has states, or gets them.
  bool writesStates() const;
  /// Whether an update depends on other parameters of the group.
  bool isByGroup() const { return description.dependsOn == runtime::Extent::Group; }
  /// Describes the first tensor whose storage type differs from the other batch: "`param` is f32
  /// for `a` and bf16 for `b`".
  std::string differenceFrom(const Batch &other) const;

private:
  runtime::Status compile(const RunOptions &options, const Storage &request);
  std::optional<std::string_view> storageOfState(const std::string &name) const;
  runtime::Status create();
  runtime::Status restore(size_t i);
  runtime::Status appendScales(size_t i, const std::string &state, Tensor &codes);
  runtime::Status checkStates(size_t i);

  Storage storage; // types from the file, merged over the parameters
  runtime::RuleInterface description;
  std::map<std::string, const Tensor *> groupStates;
  std::vector<const std::string *> names;
  std::vector<Parameter *> parameters;
  std::vector<uint64_t> numbers;
  std::vector<upd_tensor> grads;
  upd_rule *rule = nullptr;
  upd_optimizer *optimizer = nullptr;
  uint64_t probeCursor = 0;
};

} // namespace updraft::run

#endif // UPDRAFT_TOOLS_RUN_BATCH_H
