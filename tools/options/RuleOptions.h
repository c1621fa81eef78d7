//===- RuleOptions.h - Options of every tool that takes a rule ----------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_OPTIONS_RULEOPTIONS_H
#define UPDRAFT_TOOLS_OPTIONS_RULEOPTIONS_H

#include "updraft/Driver/CompileRequest.h"
#include "llvm/Support/Error.h"

#include <CLI/CLI.hpp>

namespace updraft {

/// FILE.upd, --rule, --set, --storage and --numerics.
struct RuleOptions {
  std::string file;
  std::string rule;
  std::vector<std::string> settings; // name=value
  std::vector<std::string> storage;  // name=type

  std::string numerics = "ieee";

  void addTo(CLI::App &app);

  /// Reads the file and takes the options apart.
  llvm::Expected<CompileRequest> makeRequest(llvm::StringRef target) const;
};

/// A message as the tools print it: diagnostics as they are, anything else as `error: …`; ends with
/// a line break.
std::string describe(upd_status status, const std::string &message);

} // namespace updraft

#endif // UPDRAFT_TOOLS_OPTIONS_RULEOPTIONS_H
