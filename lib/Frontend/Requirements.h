//===- Requirements.h - Importing what a rule requires ------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_FRONTEND_REQUIREMENTS_H
#define UPDRAFT_LIB_FRONTEND_REQUIREMENTS_H

#include "Request.h"

#include "updraft/Frontend/Frontend.h"

namespace updraft {

/// A setting as the user would write it; a string without quotes.
std::string shown(const Value &value);

/// Makes the requirements of one stage, then those that keep its derived flags right. Those that do
/// not hold now are reported. `names` has the stage's hyperparameters in the IR. Returns the flags
/// that were derived.
std::vector<DerivedFlag> importRequirements(mlir::OpBuilder &builder, Evaluator &evaluator,
                                            const ResolvedStage &stage, const Names &names,
                                            DiagnosticEngine &diagnostics);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_REQUIREMENTS_H
