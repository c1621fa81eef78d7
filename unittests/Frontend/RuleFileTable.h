//===- RuleFileTable.h - The declarations of the shipped rules ----------------------*- C++ -*-===//

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
  /// Settings to test in all combinations; an empty one means the default.
  std::vector<std::vector<std::string>> alternatives;
  std::vector<std::string> defaults;
  /// An invalid setting, or several separated by spaces, and the message.
  std::vector<std::pair<std::string, std::string>> refused;
};

/// One for every rule.
const std::vector<RuleFile> &ruleFiles();

} // namespace updraft

#endif // UPDRAFT_UNITTESTS_FRONTEND_RULEFILETABLE_H
