//===- Frontend.h - From the text of a rule to the dialect --------------------------*- C++ -*-===//
// The library's interface: parse and check a file once, then import one of its rules with its
// static flags and storage types. Input errors go to the engine; functions don't abort or throw.

#ifndef UPDRAFT_FRONTEND_FRONTEND_H
#define UPDRAFT_FRONTEND_FRONTEND_H

#include "updraft/Frontend/Numerics.h"
#include "updraft/Frontend/Program.h"
#include "updraft/Frontend/StorageType.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace updraft {

/// Parses and checks a file and its imports, which are looked up beside `filename`. Returns null on
/// any error.
std::shared_ptr<const Program> parseProgram(llvm::StringRef text, llvm::StringRef filename,
                                            DiagnosticEngine &diagnostics);
std::shared_ptr<const Program> parseProgram(std::shared_ptr<const SourceFile> source,
                                            DiagnosticEngine &diagnostics);

struct RuleRequest {
  /// May be empty if the file has only one rule.
  std::string rule;
  /// Static flags and defaults of hyperparameters, with values as written in the language. The
  /// value of a string flag may omit the quotes. If a name is repeated, the last value applies.
  std::vector<std::pair<std::string, std::string>> settings;
  /// Keys are `param`, `grad`, a state's name, or `state` for all states. `param` and `grad`
  /// default to f32. A state uses the first that is given: its own name, `state`, the rule's type,
  /// `param`.
  std::vector<std::pair<std::string, StorageType>> storage;
  /// One of numericsModes(): the value of `numerics` in the rule.
  std::string numerics = "ieee";
  /// The kinds of tensors that need the rule.
  upd_tensors tensors = UPD_ALL_TENSORS;
  /// Probes beside those of the rule: `NAME = EXPRESSION`, or the name of a function whose
  /// parameters have names of the rule's values.
  std::vector<std::string> probes = {};
};

/// Whether the requested rule or chain may have separate forms for vectors and matrices.
bool mayHaveMatrixRule(const Program &program, const RuleRequest &request);

/// A static flag that was not set, and is derived from hyperparameters. The rule is valid only for
/// hyperparameter values that give the flag this value.
struct DerivedFlag {
  std::string name;
  /// The hyperparameters that determine it.
  std::vector<std::string> hypers;
  /// The message of the requirement that rejects other values.
  std::string message;
};

/// The facts about an imported rule, besides its code.
struct RuleFacts {
  /// Every static flag with its value, in order of declaration; strings without quotes.
  std::vector<std::pair<std::string, std::string>> statics;
  /// In order of declaration.
  std::vector<DerivedFlag> derived;
  /// The kinds of tensors that the rules support.
  upd_tensors tensors = UPD_ALL_TENSORS;
  /// The range of the rule's name in its declaration, or of a chain in the request.
  SourceRange name;
  /// Keeps the text of `name`, which the program doesn't have if the request has a chain.
  std::shared_ptr<const SourceFile> source;
};

struct ImportedRule : RuleFacts {
  /// Holds one `updraft.rule`, or one `updraft.variants` of two.
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Imports one rule. Loads the dialects that it needs into the context.
std::optional<ImportedRule> importRule(mlir::MLIRContext &context, const Program &program,
                                       const RuleRequest &request, DiagnosticEngine &diagnostics);

/// Prints the syntax tree of the main file, one node per line; with `locations`, also positions.
/// Appends the range of each line's node to `ranges`, unless null.
void printAst(const Program &program, llvm::raw_ostream &os, bool locations = false,
              std::vector<SourceRange> *ranges = nullptr);

/// Prints the main file as source text, without comments. Parsing the result gives the same tree.
void printSource(const Program &program, llvm::raw_ostream &os);

} // namespace updraft

#endif // UPDRAFT_FRONTEND_FRONTEND_H
