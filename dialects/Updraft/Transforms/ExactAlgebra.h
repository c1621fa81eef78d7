//===- ExactAlgebra.h - Identities that hold bit for bit ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_TRANSFORMS_EXACTALGEBRA_H
#define UPDRAFT_TRANSFORMS_EXACTALGEBRA_H

namespace mlir {
class Operation;
class RewritePatternSet;
} // namespace mlir

namespace updraft {

/// Whether upstream folds a constant operand with the C library's function, which has other bits
/// than the arithmetic that `updraft-expand-math` makes of it.
bool foldsInexactly(mlir::Operation &op);

/// The rewrites of ExactAlgebra.td, which lists and justifies them.
void populateExactAlgebraPatterns(mlir::RewritePatternSet &patterns);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_EXACTALGEBRA_H
