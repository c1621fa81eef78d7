//===- Requests.h - Requests to a server, for its tests -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_SERVER_REQUESTS_H
#define UPDRAFT_UNITTESTS_SERVER_REQUESTS_H

#include "updraft/worker/v1/worker.pb.h"

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace updraft::server {

/// The text of rules/NAME.upd.
inline std::string textOfRule(const std::string &name) {
  std::ifstream file(UPDRAFT_RULES_DIR "/" + name + ".upd");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Group {
  std::vector<std::string> parameters;
  std::map<std::string, double> hypers;
};

/// An optimizer with the rule of rules/RULE.upd.
inline worker::v1::CreateOptimizerRequest
requestOf(const std::string &optimizer, const std::string &rule, const std::vector<Group> &groups) {
  worker::v1::CreateOptimizerRequest result;
  result.set_optimizer(optimizer);
  result.mutable_rule()->set_source(textOfRule(rule));
  for (const Group &group : groups) {
    worker::v1::ParameterGroup &added = *result.add_groups();
    added.mutable_parameters()->Assign(group.parameters.begin(), group.parameters.end());
    added.mutable_hyperparameters()->insert(group.hypers.begin(), group.hypers.end());
  }
  return result;
}

inline worker::v1::SetHyperparametersRequest hypersOf(const std::string &optimizer, uint32_t group,
                                                      const std::map<std::string, double> &hypers) {
  worker::v1::SetHyperparametersRequest result;
  result.set_optimizer(optimizer);
  result.set_group(group);
  result.mutable_hyperparameters()->insert(hypers.begin(), hypers.end());
  return result;
}

} // namespace updraft::server

#endif // UPDRAFT_UNITTESTS_SERVER_REQUESTS_H
