//===- RequestedProbes.h - Probes that a request adds to a rule ---------------------*- C++ -*-===//
// A request may add probes to a rule or a chain: `NAME = EXPRESSION`, or `FUNCTION` for
// `FUNCTION = FUNCTION(A, B)`, where A and B are the names of the function's parameters. They see
// the whole chain: `param` before its first stage, `new_param` after its last one, the gradient
// that its rule gets, and hyperparameters, flags and states by their public names.

#ifndef UPDRAFT_LIB_FRONTEND_REQUESTEDPROBES_H
#define UPDRAFT_LIB_FRONTEND_REQUESTEDPROBES_H

#include "Request.h"

namespace updraft {

/// Parses and checks the probe in `file`, which knows the rule's functions, for the stages that
/// were resolved. Returns nothing after reporting an error.
std::optional<RequestedProbe> readProbe(ParsedFile &file, llvm::ArrayRef<ResolvedStage> stages,
                                        DiagnosticEngine &diagnostics);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_REQUESTEDPROBES_H
