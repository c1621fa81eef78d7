//===- CacheCommand.h - updraftc cache ----------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFTC_CACHECOMMAND_H
#define UPDRAFT_TOOLS_UPDRAFTC_CACHECOMMAND_H

#include "llvm/Support/Error.h"

#include <CLI/CLI.hpp>

namespace updraft {

/// `updraftc cache list` and `updraftc cache clear`.
class CacheCommand {
public:
  explicit CacheCommand(CLI::App &app);

  bool chosen() const { return command->parsed(); }
  /// Refuses other options of `app`, because the command would ignore them.
  llvm::Error check(const CLI::App &app) const;
  llvm::Error run(llvm::raw_ostream &os) const;

private:
  CLI::App *command;
  CLI::App *clear;
};

} // namespace updraft

#endif // UPDRAFT_TOOLS_UPDRAFTC_CACHECOMMAND_H
