//===- RuleTable.h - The shipped rules and their test settings ----------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_RULETABLE_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_RULETABLE_H

#include "RuleCase.h"

#include "llvm/ADT/ArrayRef.h"

namespace updraft::differential {

/// A rule with fixed flags and hyperparameters, for any storage types.
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
/// The variants of one rule.
std::vector<RuleVariant> variantsOf(const std::string &file);

/// The names of the files in rules/, without the ending, in order.
std::vector<std::string> ruleFiles();

using StorageChoice = std::vector<std::pair<std::string, StorageType>>;

/// The storage types to test a variant with: all types of param, grad and state, or enough that
/// every pair of types occurs for any two of them; then the types that determine rounding.
std::vector<StorageChoice> storageChoices(const RuleVariant &variant);

/// Two mixes in which the named states all have different types: one of floating-point types, and
/// one with blocks and types that determine rounding. They depend on the variant.
std::vector<StorageChoice> mixedStorage(const RuleVariant &variant,
                                        llvm::ArrayRef<std::string> states);

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_RULETABLE_H
