//===- RandomRule.h - Random rules --------------------------------------------------*- C++ -*-===//
// Generates the text of a valid rule from a sequence of choices: states, hyperparameters, flags,
// user functions, expressions of all operations on tensors and scalars, some reductions; sometimes
// in a chain with a library transform. The same choices give the same rule on every machine.

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_RANDOMRULE_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_RANDOMRULE_H

#include "Choices.h"
#include "RuleCase.h"

namespace updraft::differential {

/// A rule with storage types, flags, changes of hyperparameters and small tensors.
RuleCase randomRule(Choices &choices);

/// The same, with choices generated from `seed`. The file name contains the seed.
RuleCase randomRule(uint64_t seed);

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_RANDOMRULE_H
