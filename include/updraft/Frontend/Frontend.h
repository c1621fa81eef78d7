//===- Frontend.h - From the text of a rule to the dialect --------------------------*- C++ -*-===//
// The library's interface: parse and check a file once, then import one of its rules with its
// static flags and storage types settled. Input errors go to the engine; nothing here aborts or
// throws.

#ifndef UPDRAFT_FRONTEND_FRONTEND_H
#define UPDRAFT_FRONTEND_FRONTEND_H

#include "updraft/Frontend/Numerics.h"
#include "updraft/Frontend/Program.h"
#include "updraft/Frontend/StorageType.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace updraft {

/// Parses and checks a file and what it imports; imports are looked for beside `filename`. Null if
/// there was any error.
std::shared_ptr<const Program> parseProgram(llvm::StringRef text, llvm::StringRef filename,
                                            DiagnosticEngine &diagnostics);
std::shared_ptr<const Program> parseProgram(std::shared_ptr<const SourceFile> source,
                                            DiagnosticEngine &diagnostics);

/// Whether a requested rule, or chain, may be one for matrices and another for vectors.
bool mayHaveMatrixRule(const Program &program, llvm::StringRef requested);

struct RuleRequest {
  /// Empty: the file's only rule.
  std::string rule;
  /// Static flags, and defaults of hyperparameters, with their values as written in the language; a
  /// string flag's value may leave its quotes out. The last value of a name counts.
  std::vector<std::pair<std::string, std::string>> settings;
  /// `param`, `grad`, a state's name, or `state` for all states; param and grad are f32 if not
  /// named. For a state its own name counts first, then `state`, then the rule's type, then that of
  /// `param`.
  std::vector<std::pair<std::string, StorageType>> storage;
  /// One of numericsModes(); what `numerics` is worth in the rule.
  std::string numerics = "ieee";
  /// Those that it is needed for.
  upd_tensors tensors = UPD_ALL_TENSORS;
};

/// A static flag that was not set, and follows from hyperparameters: the rule is for those of their
/// values alone that give it the same value.
struct DerivedFlag {
  std::string name;
  /// Those that it follows from.
  std::vector<std::string> hypers;
  /// What the requirement says that refuses other values.
  std::string message;
};

struct ImportedRule {
  /// Holds one `updraft.rule`, or one for vectors and then one for matrices.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Every static flag with its value, in order of declaration; a string without quotes.
  std::vector<std::pair<std::string, std::string>> statics;
  /// In order of declaration.
  std::vector<DerivedFlag> derived;
  /// Those that it is for; all, if it has a rule for each of them, or one that is for all.
  upd_tensors tensors = UPD_ALL_TENSORS;
  /// Of the rule's name, where it is declared.
  SourceRange name;
};

/// Imports one rule. The context needs no dialect loaded; the ones used are loaded here.
std::optional<ImportedRule> importRule(mlir::MLIRContext &context, const Program &program,
                                       const RuleRequest &request, DiagnosticEngine &diagnostics);

/// The syntax tree of the main file, one node per line; with `locations`, where in the file it is.
void printAst(const Program &program, llvm::raw_ostream &os, bool locations = false);

/// The main file as source text, without its comments. Parsing it gives the same tree.
void printSource(const Program &program, llvm::raw_ostream &os);

} // namespace updraft

#endif // UPDRAFT_FRONTEND_FRONTEND_H
