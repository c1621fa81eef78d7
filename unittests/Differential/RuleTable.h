//===- RuleTable.h - The shipped rules and what they are tested with ----------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_RULETABLE_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_RULETABLE_H

#include "RuleCase.h"

#include "llvm/ADT/ArrayRef.h"

namespace updraft::differential {

/// A rule with its flags and hyperparameters settled; the storage types are open.
struct RuleVariant {
  std::string file;                  // under rules/
  std::vector<std::string> settings; // "amsgrad=true"
  std::vector<HyperChange> changes;
  bool allStorageTypes = false;
  int steps = 5;
  size_t index = 0;

  /// A name for the test: the rule's, two underscores, the settings.
  std::string name() const;
  /// The case with these storage types, without tensors.
  RuleCase instantiate(std::vector<std::pair<std::string, StorageType>> storage) const;
};

/// Every combination of the flags and settings of every rule.
std::vector<RuleVariant> allVariants();
/// Those of one rule.
std::vector<RuleVariant> variantsOf(const std::string &file);

/// The names of the files in rules/, without the ending, in order.
std::vector<std::string> ruleFiles();

using StorageChoice = std::vector<std::pair<std::string, StorageType>>;

/// The storage types to test a variant with: all of param, grad and state, or so many that every
/// pair of types of two of them occurs; then those that say how values are rounded.
std::vector<StorageChoice> storageChoices(const RuleVariant &variant);

/// Two mixes in which no two states of these names have the same type: of floating-point types, and
/// with those in blocks and those that say how values are rounded. They change with the variant.
std::vector<StorageChoice> mixedStorage(const RuleVariant &variant,
                                        llvm::ArrayRef<std::string> states);

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_RULETABLE_H
