//===- Limits.h - How much a rule may expand to -------------------------------------*- C++ -*-===//
// A rule within these compiles in a few seconds, for every target.

#ifndef UPDRAFT_FRONTEND_LIMITS_H
#define UPDRAFT_FRONTEND_LIMITS_H

namespace updraft {

/// Operations that a rule may expand to, and expressions that checking or expanding it may visit.
constexpr unsigned maxOperations = 4000;
constexpr unsigned maxVisits = 20 * maxOperations;
/// How many operations an elementary function, a maximum and a minimum count as. If a rule has many
/// elementary functions, each becomes a call. A maximum becomes several instructions where the
/// target has none that keeps NaNs. LLVM takes about as long to compile either as so many
/// operations.
constexpr unsigned operationsOfFunction = 5;
/// How many operations a reduction counts as. Most become a pass over the tensors, for which a GPU
/// has a kernel of its own.
constexpr unsigned operationsOfReduction = 50;
/// How deep expressions may nest over all calls that are being expanded.
constexpr unsigned maxExpansionDepth = 400;

} // namespace updraft

#endif // UPDRAFT_FRONTEND_LIMITS_H
