//===- CompiledRule.h - Compiles a rule that arrived as text ------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_COMPILEDRULE_H
#define UPDRAFT_RUNTIME_TORCH_RPC_COMPILEDRULE_H

#include "updraft-c/compiler.h"

#include <c10/util/Exception.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace updraft::torch_adapter {

/// How to compile a rule, independent of its text.
struct RuleChoices {
  std::string filename; ///< the name of the text in messages
  std::string rule;     ///< empty: the only rule in the text
  std::string numerics; ///< empty: "ieee", or as in the package
  std::string package;  ///< the bytes of a package, in place of a text; usually empty
  std::vector<std::pair<std::string, std::string>> storage; ///< storage types of states
  /// Names and texts of imported files, beside the rule's text. It can't import other files.
  std::vector<std::pair<std::string, std::string>> files;
};

/// Names and values, in the language's syntax.
using Settings = std::vector<std::pair<std::string, std::string>>;

struct ReleaseRule {
  void operator()(upd_rule *rule) const;
};
using RulePointer = std::unique_ptr<upd_rule, ReleaseRule>;

/// The rule's text can't be compiled with some settings. Has the compiler's message.
class CompileError : public c10::ValueError {
  using ValueError::ValueError;
};

/// Compiles a rule for parameters and gradients stored as `dtype`, or finds it in the cache. A
/// chosen storage of bf16 parameters, such as bf16_stochastic, applies only to these. Throws
/// CompileError, and other errors of the library.
RulePointer compileRule(const RuleChoices &choices, const std::string &source,
                        const Settings &settings, upd_dtype dtype);

/// Whether a step of a parameter depends on other parameters of its group.
bool dependsOnGroup(const upd_rule *rule);

/// Refuses a rule that can't step complex parameters, which are stored as pairs of numbers.
void requirePairs(const upd_rule *rule);

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_COMPILEDRULE_H
