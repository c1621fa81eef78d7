//===- RandomExtents.h - Rules in the dialect with values of all extents ------------*- C++ -*-===//
// Generates a valid `updraft.rule` of random operations: reductions of all values over all extents,
// values and states of rows, columns, tensors and groups, skipped steps, random bits.

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_RANDOMEXTENTS_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_RANDOMEXTENTS_H

#include "Choices.h"
#include "PlanRunner.h"

namespace updraft::differential {

/// A rule named R for vectors or matrices, and the shapes of a few tensors for it. `seed` generates
/// their elements.
PlanCase randomExtents(Choices &choices, bool isMatrix, uint64_t seed);

/// A rule named R and the shapes of a few tensors for it; every other seed gives one for matrices.
PlanCase randomExtents(uint64_t seed);

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_RANDOMEXTENTS_H
