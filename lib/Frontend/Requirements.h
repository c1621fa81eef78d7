//===- Requirements.h - Imports the requirements of a rule --------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_FRONTEND_REQUIREMENTS_H
#define UPDRAFT_LIB_FRONTEND_REQUIREMENTS_H

#include "Request.h"

#include "updraft/Frontend/Frontend.h"

namespace updraft {

/// Formats a setting as the user would write it; strings have no quotes.
std::string shown(const Value &value);

/// Emits the requirements of one stage, then those that keep its derived flags valid. Reports
/// requirements that don't hold now. `names` has the stage's hyperparameters in the IR. Returns the
/// derived flags.
std::vector<DerivedFlag> importRequirements(mlir::OpBuilder &builder, Evaluator &evaluator,
                                            const ResolvedStage &stage, const Names &names,
                                            DiagnosticEngine &diagnostics);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_REQUIREMENTS_H
