//===- Optimizer.h - RAII for rules and optimizers of the C API ---------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_HARNESS_OPTIMIZER_H
#define UPDRAFT_TOOLS_HARNESS_OPTIMIZER_H

#include "updraft-c/compiler.h"
#include "updraft-c/optimizer.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace updraft::harness {

/// Says that the compiler can't make code for a rule on a target.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws the library's message as a std::runtime_error unless `status` is UPD_OK.
void check(upd_status status);

using Rule = std::unique_ptr<upd_rule, decltype(&upd_rule_release)>;
using Optimizer = std::unique_ptr<upd_optimizer, decltype(&upd_optimizer_release)>;

struct RuleRequest {
  std::string file = {};
  std::string rule = {}; // in the file, or a chain; empty: the only one
  std::vector<std::pair<std::string, std::string>> settings = {};
  std::vector<std::pair<std::string, std::string>> storage = {};
  std::string numerics = {}; // empty: the default
  std::string source = {};   // the rule's text, if there is no file
  std::vector<std::string> probes = {};
};

/// `cacheFolder` is as in upd_compile_options. Throws Unsupported if the compiler can't make code
/// for the target.
Rule compile(const RuleRequest &request, const std::string &target,
             const char *cacheFolder = nullptr);
/// `pool` is as in upd_optimizer_create.
Optimizer makeOptimizer(upd_rule *rule, const std::vector<std::vector<upd_tensor>> &groups,
                        const upd_pool *pool = nullptr);

} // namespace updraft::harness

#endif // UPDRAFT_TOOLS_HARNESS_OPTIMIZER_H
