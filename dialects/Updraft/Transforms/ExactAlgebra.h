//===- ExactAlgebra.h - Identities that hold bit for bit ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_TRANSFORMS_EXACTALGEBRA_H
#define UPDRAFT_TRANSFORMS_EXACTALGEBRA_H

namespace mlir {
class RewritePatternSet;
}

namespace updraft {

/// The rewrites of ExactAlgebra.td, which lists and justifies them.
void populateExactAlgebraPatterns(mlir::RewritePatternSet &patterns);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_EXACTALGEBRA_H
