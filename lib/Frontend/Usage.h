//===- Usage.h - What a rule mentions -----------------------------------------------*- C++ -*-===//
// Looks through a rule and the functions that it calls, for what decides about its interface.

#ifndef UPDRAFT_LIB_FRONTEND_USAGE_H
#define UPDRAFT_LIB_FRONTEND_USAGE_H

#include "updraft/Frontend/Ast.h"

namespace updraft {

/// Whether the rule mentions `matrix`, so that it is one for matrices and another for vectors.
bool mentionsMatrix(const Rule &rule);

/// Whether a value depends on the tensor or the step: it has to be computed at each step.
bool dependsOnTensor(const Expr &expr, const ParsedFile &file);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_USAGE_H
