//===- PackageCommands.h - updraftc pack, inspect and verify ------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFTC_PACKAGECOMMANDS_H
#define UPDRAFT_TOOLS_UPDRAFTC_PACKAGECOMMANDS_H

#include "tools/options/RuleOptions.h"

namespace updraft {

/// Compiles a rule to a package, shows a package, and runs its sample.
class PackageCommands {
public:
  explicit PackageCommands(CLI::App &app);

  bool chosen() const { return pack->parsed() || inspect->parsed() || verify->parsed(); }
  /// Refuses options of `app`, because the command would ignore them.
  llvm::Error check(const CLI::App &app) const;
  llvm::Error run() const;

private:
  const CLI::App *command() const {
    return pack->parsed() ? pack : inspect->parsed() ? inspect : verify;
  }
  llvm::Error runPack() const;
  llvm::Error runInspect() const;
  llvm::Error runVerify() const;

  CLI::App *pack;
  CLI::App *inspect;
  CLI::App *verify;
  RuleOptions rule;
  std::vector<std::string> variants; // each as in `--storage`
  std::vector<std::string> targets;
  std::string output;
  std::string privateKey;
  std::string file;
  bool json = false;
  std::string part;
  std::string publicKey;
};

} // namespace updraft

#endif // UPDRAFT_TOOLS_UPDRAFTC_PACKAGECOMMANDS_H
