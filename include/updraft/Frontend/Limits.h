//===- Limits.h - The limits of a rule's expansion ----------------------------------*- C++ -*-===//
// A rule within these limits compiles in a few seconds, for every target.

#ifndef UPDRAFT_FRONTEND_LIMITS_H
#define UPDRAFT_FRONTEND_LIMITS_H

namespace updraft {

/// The most operations that a rule may expand to, and the most expressions that checking or
/// expanding it may visit.
constexpr unsigned maxOperations = 4000;
constexpr unsigned maxVisits = 20 * maxOperations;
/// The number of operations that an elementary function, a maximum or a minimum counts as. If a
/// rule has many elementary functions, each becomes a call. A maximum becomes several instructions
/// on targets without one that keeps NaNs. LLVM takes about as long to compile either as this many
/// operations.
constexpr unsigned operationsOfFunction = 5;
/// The number of operations that a reduction counts as. Most become a sweep over the tensors, which
/// is a separate kernel on a GPU.
constexpr unsigned operationsOfReduction = 25;
/// The number of operations that a product of matrices counts as. It is a call of a function that
/// all products share.
constexpr unsigned operationsOfProduct = 5;
/// The maximum nesting of expressions across all calls that are being expanded.
constexpr unsigned maxExpansionDepth = 400;

} // namespace updraft

#endif // UPDRAFT_FRONTEND_LIMITS_H
