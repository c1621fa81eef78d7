//===- Chain.h - The stages of a chain ----------------------------------------------*- C++ -*-===//
// Flattens a chain to a list of transforms around one rule, each with its arguments, and determines
// the public names of their hyperparameters, flags and states.

#ifndef UPDRAFT_LIB_FRONTEND_CHAIN_H
#define UPDRAFT_LIB_FRONTEND_CHAIN_H

#include "updraft/Frontend/Ast.h"
#include "updraft/Support/Diagnostics.h"

namespace updraft {

/// The most states that a rule, or all stages of a chain together, may have. Each is a stream of
/// the kernel, and the time of code generation grows faster than their number.
constexpr size_t maxStates = 64;

/// The most probes that a rule or a chain may have. Each count of a histogram is one.
constexpr size_t maxProbes = 64;

/// The most stages of a chain. Chains in it count too, in addition to their stages.
constexpr size_t maxStages = 64;

struct ChainStage {
  struct Argument {
    const Parameter *parameter;
    const Expr *value;
    const ParsedFile *file; ///< of the chain that has the argument
  };
  const Rule *rule; ///< not a chain
  std::vector<Argument> arguments;
  /// The rule's name. If a name repeats, the second has the suffix 2, and so on.
  std::string label;
  /// The public name of the step count of later stages, if the stage may hold them. A `_` follows
  /// it if the rule or an earlier stage has the name.
  std::string countName;
  /// Maps each hyperparameter, flag and state to its public name: the declared name, prefixed with
  /// the stage's label if another stage has the same name. The rule's own names don't change.
  llvm::StringMap<std::string> names;
  /// The places that name the stage: in the outermost chain first. Empty for a rule alone.
  std::vector<SourceRange> calls;
};

/// Returns the stages of a rule or chain in order; a rule that is not a chain is its only stage.
/// Returns an empty list after reporting an error.
std::vector<ChainStage> flattenChain(const Rule &rule, DiagnosticEngine &diagnostics);

/// Returns the first name in an expression, or null.
const Expr *findName(const Expr &expr);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_CHAIN_H
