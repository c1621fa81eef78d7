//===- PackedRules.h - Rules that are compiled once ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_SERVER_PACKEDRULES_H
#define UPDRAFT_UNITTESTS_SERVER_PACKEDRULES_H

#include "tools/updraft-worker/RuleSource.h"

#include <map>
#include <string>

namespace updraft::server {

/// For tests that start many servers, in one thread.
inline std::string packedOnce(const worker::v1::Rule &rule) {
  static std::map<std::string, std::string> known;
  std::string &package = known[rule.SerializeAsString()];
  if (package.empty())
    package = worker::packSource(rule);
  return package;
}

} // namespace updraft::server

#endif // UPDRAFT_UNITTESTS_SERVER_PACKEDRULES_H
