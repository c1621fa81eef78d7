//===- Usage.h - Searches a rule for uses of names ----------------------------------*- C++ -*-===//
// Searches a rule and the functions that it calls for uses that determine its interface.

#ifndef UPDRAFT_LIB_FRONTEND_USAGE_H
#define UPDRAFT_LIB_FRONTEND_USAGE_H

#include "updraft/Frontend/Ast.h"

namespace updraft {

/// Whether the rule mentions `matrix`, so that there are separate rules for matrices and vectors.
bool mentionsMatrix(const Rule &rule);

bool mentionsMatrix(const Expr &expr);

/// Whether a value depends on the tensor, its class or the step, so that the step must compute it.
bool dependsOnTensor(const Expr &expr, const ParsedFile &file);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_USAGE_H
