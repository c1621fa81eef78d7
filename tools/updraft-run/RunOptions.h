//===- RunOptions.h - Options of updraft-run ----------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_RUN_RUNOPTIONS_H
#define UPDRAFT_TOOLS_RUN_RUNOPTIONS_H

#include "Storage.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace updraft::run {

struct RunOptions {
  std::string ruleFile;
  std::string requiredKeyFile; // empty: a signature is not required
  std::string source;          // the content of the rule file, which may be a package
  std::string rule;            // empty: the only rule in the file
  std::string numerics;        // empty: that of a package, otherwise ieee
  std::vector<std::pair<std::string, std::string>> settings;
  Storage storage; // for tensors that the input doesn't have
  std::vector<std::string> probes;
  std::string probeOutput; // empty: the standard output
  std::string timeline;    // empty: none is recorded
  std::string input;
  std::string output;
  int64_t steps = 1;
};

} // namespace updraft::run

#endif // UPDRAFT_TOOLS_RUN_RUNOPTIONS_H
