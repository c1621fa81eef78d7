//===- Sides.h - The compiled and the interpreted rule of a case --------------------*- C++ -*-===//
// Makes both from the same text, and owns the handles of the C API.

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_SIDES_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_SIDES_H

#include "RuleCase.h"

#include "updraft-c/optimizer.h"
#include "updraft/Reference/Interpreter.h"

#include <memory>
#include <optional>

namespace updraft::differential {

struct ReleaseRule {
  void operator()(upd_rule *rule) const { upd_rule_release(rule); }
};
struct ReleaseOptimizer {
  void operator()(upd_optimizer *optimizer) const { upd_optimizer_release(optimizer); }
};
using RuleHandle = std::unique_ptr<upd_rule, ReleaseRule>;
using OptimizerHandle = std::unique_ptr<upd_optimizer, ReleaseOptimizer>;

reference::StorageFormat formatOf(upd_dtype dtype);
upd_dtype dtypeOf(reference::StorageFormat format);

/// Compiles through the C API, which is for this machine, or for the case's target; without a cache
/// on disk.
llvm::Expected<RuleHandle> compile(const RuleCase &ruleCase);

/// Imports the rule and makes an interpreter of it as it is, before any pass.
llvm::Expected<reference::Interpreter>
interpret(const RuleCase &ruleCase, reference::Precision precision = reference::Precision::Stated);

/// Likewise of the rule for matrices, if it has one of its own.
llvm::Expected<std::optional<reference::Interpreter>> interpretMatrix(const RuleCase &ruleCase);

/// Whether both say the same of their hyperparameters and streams.
testing::AssertionResult interfacesAgree(const upd_rule &rule,
                                         llvm::ArrayRef<reference::Interpreter> interpreters);

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_SIDES_H
