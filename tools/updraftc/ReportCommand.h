//===- ReportCommand.h - updraftc report --------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFTC_REPORTCOMMAND_H
#define UPDRAFT_TOOLS_UPDRAFTC_REPORTCOMMAND_H

#include "tools/options/RuleOptions.h"

namespace updraft {

/// Writes a page, or a JSON document, that shows what the compiler did to a rule.
class ReportCommand {
public:
  explicit ReportCommand(CLI::App &app);

  bool chosen() const { return command->parsed(); }
  /// Refuses options of `app`, because the command would ignore them.
  llvm::Error check(const CLI::App &app) const;
  llvm::Error run() const;

private:
  CLI::App *command;
  RuleOptions rule;
  std::string target = "host";
  std::string alsoFor;
  std::string other;
  std::vector<std::string> runs;
  std::string output;
  bool json = false;
};

} // namespace updraft

#endif // UPDRAFT_TOOLS_UPDRAFTC_REPORTCOMMAND_H
