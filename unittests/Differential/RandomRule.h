//===- RandomRule.h - Rules nobody would write --------------------------------------*- C++ -*-===//
// Makes the text of a valid rule from a row of choices: states, hyperparameters, flags, user
// functions, and expressions over everything that the language has for tensors and scalars. The
// same choices give the same rule on every machine.

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_RANDOMRULE_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_RANDOMRULE_H

#include "RuleCase.h"

namespace updraft::differential {

/// Where the choices come from: a seed, or the bytes of a fuzzer.
class Choices {
public:
  virtual ~Choices() = default;
  /// A number from 0 to `limit` - 1; `limit` is at least 1.
  virtual unsigned below(unsigned limit) = 0;
};

/// A rule with storage types, flags, changes of hyperparameters and small tensors.
RuleCase randomRule(Choices &choices);

/// The same with the choices that `seed` makes; the seed is in the name of its file.
RuleCase randomRule(uint64_t seed);

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_RANDOMRULE_H
