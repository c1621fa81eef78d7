//===- RandomRule.h - Rules nobody would write --------------------------------------*- C++ -*-===//
// Makes the text of a valid rule from a seed: states, hyperparameters, flags, user functions, and
// expressions over everything that the language has for tensors and scalars. The same seed gives
// the same rule on every machine.

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_RANDOMRULE_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_RANDOMRULE_H

#include "RuleCase.h"

namespace updraft::differential {

/// A rule with storage types, flags, changes of hyperparameters and small tensors.
RuleCase randomRule(uint64_t seed);

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_RANDOMRULE_H
