//===- RandomRule.h - Rules nobody would write --------------------------------------*- C++ -*-===//
// Makes the text of a valid rule from a row of choices: states, hyperparameters, flags, user
// functions, expressions over everything that the language has for tensors and scalars, some
// reductions; sometimes in a chain with a transform of the library. The same choices give the same
// rule on every machine.

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_RANDOMRULE_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_RANDOMRULE_H

#include "Choices.h"
#include "RuleCase.h"

namespace updraft::differential {

/// A rule with storage types, flags, changes of hyperparameters and small tensors.
RuleCase randomRule(Choices &choices);

/// The same with the choices that `seed` makes; the seed is in the name of its file.
RuleCase randomRule(uint64_t seed);

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_RANDOMRULE_H
