//===- FunctionNames.h - The functions in a rule's object file ----------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_FUNCTIONNAMES_H
#define UPDRAFT_DRIVER_FUNCTIONNAMES_H

#include "runtime/base/RuleInterface.h"

#include <string>
#include <vector>

namespace updraft {

/// Returns the names of the functions in the object file for a CPU, in the order of packages and
/// linked rules: R_initial, R_validate, then the prologues and sweeps of each plan in the order in
/// which they run.
std::vector<std::string> functionsOf(const runtime::RuleInterface &rule);

} // namespace updraft

#endif // UPDRAFT_DRIVER_FUNCTIONNAMES_H
