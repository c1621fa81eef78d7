//===- Optimizer.h - Rules and optimizers of the C API, owned -----------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_HARNESS_OPTIMIZER_H
#define UPDRAFT_TOOLS_HARNESS_OPTIMIZER_H

#include "updraft-c/optimizer.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace updraft::harness {

/// Throws the library's message as a std::runtime_error unless `status` is UPD_OK.
void check(upd_status status);

using Rule = std::unique_ptr<upd_rule, decltype(&upd_rule_release)>;
using Optimizer = std::unique_ptr<upd_optimizer, decltype(&upd_optimizer_release)>;

struct RuleRequest {
  std::string file = {};
  std::string rule = {}; // of the file, or a chain; empty: the only one
  std::vector<std::pair<std::string, std::string>> settings = {};
  std::vector<std::pair<std::string, std::string>> storage = {};
  std::string numerics = {}; // empty: as the rule says
  std::string source = {};   // of the rule, where there is no file
};

/// `cacheFolder`: as upd_compile_options has it.
Rule compile(const RuleRequest &request, const std::string &target,
             const char *cacheFolder = nullptr);
/// `pool`: as upd_optimizer_create has it.
Optimizer makeOptimizer(upd_rule *rule, const std::vector<std::vector<upd_tensor>> &groups,
                        const upd_pool *pool = nullptr);

} // namespace updraft::harness

#endif // UPDRAFT_TOOLS_HARNESS_OPTIMIZER_H
