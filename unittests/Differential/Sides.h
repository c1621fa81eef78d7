//===- Sides.h - A case's compiled and interpreted rule -----------------------------*- C++ -*-===//
// Makes both from the same text, and owns the C API's handles.

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

/// Compiles through the C API, for this machine or the case's target, without a disk cache.
llvm::Expected<RuleHandle> compile(const RuleCase &ruleCase);

/// Imports the rule and makes an interpreter for it, before any pass.
llvm::Expected<reference::Interpreter>
interpret(const RuleCase &ruleCase, reference::Precision precision = reference::Precision::Stated);

/// The same for all forms of the rule: for all tensors, or for vectors and for matrices.
llvm::Expected<std::vector<reference::Interpreter>> interpretForms(const RuleCase &ruleCase);

/// Whether the rule has states of square matrices. The time of a step may then grow with the cube
/// of the columns.
bool hasSquareStates(const upd_rule &rule);

/// Whether both have the same hyperparameters and streams.
testing::AssertionResult interfacesAgree(const upd_rule &rule,
                                         llvm::ArrayRef<reference::Interpreter> interpreters);

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_SIDES_H
