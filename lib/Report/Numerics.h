//===- Numerics.h - Roundings, errors and hoisted scalars of a rule -----------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_REPORT_NUMERICS_H
#define UPDRAFT_LIB_REPORT_NUMERICS_H

#include "Updraft/IR/UpdraftOps.h"
#include "llvm/Support/JSON.h"

namespace updraft {

/// Returns the roundings of the rule's streams and functions, with the bounds of docs/numerics.md.
/// `forms` are the rules as imported.
llvm::json::Object roundingsOf(llvm::ArrayRef<RuleOp> forms, llvm::StringRef numerics);

/// JSON has no infinities and no NaN: they are strings.
llvm::json::Value numberAsJSON(double value);

/// The steps at which a report shows hoisted scalars.
inline constexpr int shownSteps[] = {1, 10, 1000};

/// Adds to each scalar of the plan's prologues, as in planData, its values with the default
/// hyperparameters, or why they are unknown.
void addScalarValues(PlanOp plan, llvm::json::Object &data);

} // namespace updraft

#endif // UPDRAFT_LIB_REPORT_NUMERICS_H
