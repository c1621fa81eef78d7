//===- RuleCases.h - The rules to compare -------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_GPUSUITE_RULECASES_H
#define UPDRAFT_TOOLS_GPUSUITE_RULECASES_H

#include "Parts.h"
#include "tools/harness/Optimizer.h"

namespace updraft::suite {

struct RuleCase {
  std::string name; // "sgd momentum=0.9 bf16"
  harness::RuleRequest request;
};

/// Every rule in the folder with its defaults and with other flags, and chains of transforms, each
/// with several storage types.
std::vector<RuleCase> ruleCases(const Options &options);

/// The names of the files in the folder, sorted.
std::vector<std::string> shippedRules(const Options &options);

/// The path of a shipped rule.
std::string fileOf(const Options &options, const std::string &rule);

} // namespace updraft::suite

#endif // UPDRAFT_TOOLS_GPUSUITE_RULECASES_H
