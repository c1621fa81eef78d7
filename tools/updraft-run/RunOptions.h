//===- RunOptions.h - What updraft-run is asked to do -------------------------------*- C++ -*-===//

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
  std::string rule; // empty: the file's only one
  std::string numerics = "ieee";
  std::vector<std::pair<std::string, std::string>> settings;
  Storage storage; // of what the input does not have
  std::string input;
  std::string output;
  int64_t steps = 1;
};

} // namespace updraft::run

#endif // UPDRAFT_TOOLS_RUN_RUNOPTIONS_H
