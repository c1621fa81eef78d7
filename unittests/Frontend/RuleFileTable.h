//===- RuleFileTable.h - What the shipped rules declare -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_FRONTEND_RULEFILETABLE_H
#define UPDRAFT_UNITTESTS_FRONTEND_RULEFILETABLE_H

#include <string>
#include <utility>
#include <vector>

namespace updraft {

/// A file under rules/, and its only rule.
struct RuleFile {
  std::string file;
  std::string rule;
  /// Settings tried in every combination; the empty one leaves the default.
  std::vector<std::vector<std::string>> alternatives;
  std::vector<std::string> defaults;
  /// A bad setting and the message.
  std::vector<std::pair<std::string, std::string>> refused;
};

/// One for every rule.
const std::vector<RuleFile> &ruleFiles();

} // namespace updraft

#endif // UPDRAFT_UNITTESTS_FRONTEND_RULEFILETABLE_H
