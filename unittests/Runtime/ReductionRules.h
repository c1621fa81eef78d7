//===- ReductionRules.h - Hand-written rules with several sweeps --------------------*- C++ -*-===//
// Includes straightforward implementations of their reductions.

#ifndef UPDRAFT_UNITTESTS_RUNTIME_REDUCTIONRULES_H
#define UPDRAFT_UNITTESTS_RUNTIME_REDUCTIONRULES_H

#include "FakeRules.h"

namespace updraft::runtime::test {

/// Clips by the norm of the group: scale = min(1, clip / norm(all gradients of the group)), with
/// hyperparameter clip = 1, then param -= scale * grad + m, where the state `m` (f32, element,
/// initially hyperparameter start = 0) counts the steps. A group whose norm is not finite is
/// skipped. The state `sum` (f32, tensor, initially start) sums the tensor's gradients, `largest`
/// (f64, group) is the largest gradient so far, initially -1. A tensor whose own sum is NaN or
/// infinite, or exactly 12345, is skipped.
std::shared_ptr<const Kernels> clipRule();

/// Vectors: param -= norm(all gradients); state `v` (f32, element) counts. Matrices: row_var (f32,
/// row, initially 0.5) += sum of the row's squares, col_var (f64, column, initially 0) = largest of
/// the column, param -= norm(all gradients) + row_var + col_var + sum(row_var) + column of the
/// element.
std::shared_ptr<const Kernels> factoredRule();

/// param -= grad / norm(the tensor's gradients) + m, where the state `m` (f32, element) counts. A
/// tensor whose norm is not finite is skipped.
std::shared_ptr<const Kernels> normalizedRule();
/// The numbers of this rule's sweeps that have run since the last call, in order.
std::vector<int> normalizedCalls();

/// `param` = 1000 * step + 100 * tensor + seed, from the site that a sweep gets.
std::shared_ptr<const Kernels> siteRule();

/// Combines pairs, level by level.
double pairwise(std::vector<double> values, bool max = false);
/// Sum over leaves of 8192: the flat tree.
double flatSum(const std::vector<float> &values, bool squares);
double flatSum(const std::vector<double> &values);
double flatMax(const std::vector<float> &values);
/// The matrix tree, over blocks of 64 rows.
double matrixSquares(const std::vector<float> &values, int64_t batches, int64_t rows,
                     int64_t columns);
double rowSquares(const float *row, int64_t columns);

} // namespace updraft::runtime::test

#endif // UPDRAFT_UNITTESTS_RUNTIME_REDUCTIONRULES_H
