//===- CompiledRule.h - A rule that arrived as text, compiled on this worker --------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_COMPILEDRULE_H
#define UPDRAFT_RUNTIME_TORCH_RPC_COMPILEDRULE_H

#include "updraft-c/compiler.h"

#include <c10/util/Exception.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace updraft::torch_adapter {

/// How a rule is compiled, whatever its text.
struct RuleChoices {
  std::string filename; ///< names the text in messages
  std::string rule;     ///< empty: the only one of the text
  std::string numerics;
  std::vector<std::pair<std::string, std::string>> storage; ///< of states
  /// Names and texts of what is imported, beside the rule's text; it imports nothing else.
  std::vector<std::pair<std::string, std::string>> files;
};

/// Names and values, as the language writes them.
using Settings = std::vector<std::pair<std::string, std::string>>;

struct ReleaseRule {
  void operator()(upd_rule *rule) const;
};
using RulePointer = std::unique_ptr<upd_rule, ReleaseRule>;

/// Nothing can be compiled of a rule's text for some settings: what the compiler says.
class CompileError : public c10::ValueError {
  using ValueError::ValueError;
};

/// Compiles a rule for parameters and gradients that are stored as `dtype`, or finds it in the
/// cache. Throws CompileError, and what else the library says.
RulePointer compileRule(const RuleChoices &choices, const std::string &source,
                        const Settings &settings, upd_dtype dtype);

/// Whether a step of a parameter depends on others of its group.
bool dependsOnGroup(const upd_rule *rule);

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_COMPILEDRULE_H
