//===- ExactAlgebra.h - Identities that hold bit for bit ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_TRANSFORMS_EXACTALGEBRA_H
#define UPDRAFT_TRANSFORMS_EXACTALGEBRA_H

#include "Updraft/IR/UpdraftOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace updraft {

/// Adds the rewrites of ExactAlgebra.td, which lists and justifies them.
void populateExactAlgebraPatterns(mlir::RewritePatternSet &patterns);

/// Applies `patterns` and folds to the operations of a rule, except functions whose folding is not
/// exact, then merges common subexpressions. Returns whether anything was merged.
bool rewriteBody(RuleOp rule, const mlir::FrozenRewritePatternSet &patterns,
                 mlir::RewriterBase::Listener *listener = nullptr);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_EXACTALGEBRA_H
