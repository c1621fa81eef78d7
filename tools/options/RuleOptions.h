//===- RuleOptions.h - Options of all tools that take a rule ------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_OPTIONS_RULEOPTIONS_H
#define UPDRAFT_TOOLS_OPTIONS_RULEOPTIONS_H

#include "updraft/Driver/CompileRequest.h"
#include "llvm/Support/Error.h"

#include <CLI/CLI.hpp>

namespace updraft {

/// FILE.upd, --rule, --set, --storage, --probe and --numerics.
struct RuleOptions {
  std::string file;
  std::string rule;
  std::vector<std::string> settings; // name=value
  std::vector<std::string> storage;  // name=type

  std::vector<std::string> probes; // name=expression, or a name
  std::string numerics = "ieee";

  void addTo(CLI::App &app);
  /// The same without --storage.
  void addWithoutStorage(CLI::App &app);

  /// Parses items of `--storage`.
  static llvm::Expected<std::vector<std::pair<std::string, StorageType>>>
  parseStorage(llvm::ArrayRef<std::string> items);

  /// Reads the file and parses the options.
  llvm::Expected<CompileRequest> makeRequest(llvm::StringRef target) const;
};

/// Formats a message as the tools print it: diagnostics unchanged, anything else as `error: …`.
/// Ends with a line break.
std::string describe(upd_status status, const std::string &message);

} // namespace updraft

#endif // UPDRAFT_TOOLS_OPTIONS_RULEOPTIONS_H
