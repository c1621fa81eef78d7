//===- Chain.h - The stages that a rule is made of ----------------------------------*- C++ -*-===//
// Makes a chain into a flat list of transforms around one rule, each with its arguments, and gives
// the names under which their hyperparameters, flags and states are known outside.

#ifndef UPDRAFT_LIB_FRONTEND_CHAIN_H
#define UPDRAFT_LIB_FRONTEND_CHAIN_H

#include "updraft/Frontend/Ast.h"
#include "updraft/Support/Diagnostics.h"

namespace updraft {

/// States that a rule may have, or all stages of a chain together. Each is a stream of the kernel,
/// and code generation takes time that grows faster than their number.
constexpr size_t maxStates = 64;

struct ChainStage {
  struct Argument {
    const Parameter *parameter;
    const Expr *value;
    const ParsedFile *file; ///< of the chain that gives it
  };
  const Rule *rule; ///< no chain
  std::vector<Argument> arguments;
  /// The rule's name; the second of a name has a 2 behind it, and so on.
  std::string label;
  /// For each hyperparameter, flag and state, how it is called outside: as in its declaration, or
  /// with the stage's label before it where another stage has the name too. A rule's own names
  /// stay.
  llvm::StringMap<std::string> names;
};

/// The stages of a rule or chain in order; a rule that is no chain is its only stage. Empty after a
/// report.
std::vector<ChainStage> flattenChain(const Rule &rule, DiagnosticEngine &diagnostics);

/// The first name in an expression, or null.
const Expr *findName(const Expr &expr);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_CHAIN_H
