//===- InterfaceRules.h - Interfaces of rules for tests -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_RUNTIME_INTERFACERULES_H
#define UPDRAFT_UNITTESTS_RUNTIME_INTERFACERULES_H

#include "runtime/base/RuleInterface.h"

namespace updraft::runtime::test {

/// One plan for all tensors, with one state.
RuleInterface adamw();
/// A plan for vectors, and one for matrices with a state, two temporaries and reductions.
RuleInterface factored();
/// A rule with a plan for vectors, one for wide matrices that computes (p pT)T p, and one for the
/// other matrices.
RuleInterface products();
/// As `products`, in f64.
RuleInterface doubleProducts();
/// As `products`, with the eigenvectors of the Gram matrix and a sort by its eigenvalues, in steps
/// where a flag is set.
RuleInterface calls();
/// Gathers a quarter of the rows, and multiplies these.
RuleInterface chosen();

/// Writes the descriptor and reads it.
RuleInterface readBack(const RuleInterface &rule);

} // namespace updraft::runtime::test

#endif // UPDRAFT_UNITTESTS_RUNTIME_INTERFACERULES_H
