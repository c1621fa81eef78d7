//===- Evaluator.h - Walking expressions at import ----------------------------------*- C++ -*-===//
// Evaluates checked expressions with given values of their names, expanding functions. With all
// names constant, nothing is emitted.

#ifndef UPDRAFT_LIB_FRONTEND_EVALUATOR_H
#define UPDRAFT_LIB_FRONTEND_EVALUATOR_H

#include "Emitter.h"

#include "updraft/Support/Diagnostics.h"

#include "llvm/Support/StringSaver.h"

namespace updraft {

/// The names that an expression may use, with their values; the last of a name counts.
struct Names {
  const ParsedFile *file;
  llvm::SmallVector<std::pair<llvm::StringRef, Value>, 16> values;

  void add(llvm::StringRef name, const Value &value) { values.emplace_back(name, value); }
  const Value *find(llvm::StringRef name) const;
};

/// Random numbers that an element can have in one step.
constexpr unsigned maxRandomNumbers = 16;

class Evaluator {
public:
  /// `numerics` is a mode of RuleRequest, and outlives the values.
  Evaluator(mlir::OpBuilder &builder, mlir::Type compute, llvm::StringRef numerics,
            DiagnosticEngine &diagnostics)
      : emit(builder, compute), context(builder.getContext()), numerics(numerics),
        diagnostics(diagnostics) {}

  /// An error value after a report.
  Value evaluate(const Expr &expr, const Names &names);

  mlir::Location location(SourceRange range) const;
  /// The location of a name's declaration, carrying the name.
  mlir::Location location(const Identifier &name) const;

  /// Gives the operation that a name is bound to the name, if it has none.
  void nameResult(const Identifier &name, const Value &value) const;

  Emitter emit;
  /// Whether the tensors have rows and columns.
  bool isMatrix = false;

private:
  Value evaluateInner(const Expr &expr, const Names &names);
  Value evaluateName(const Expr &expr, const Names &names);
  Value evaluateBinary(const Expr &expr, const Names &names);
  Value evaluateIf(const Expr &expr, const Names &names);
  Value evaluateCall(const Expr &expr, const Names &names);
  Value evaluateRuleFunction(const Expr &expr, const RuleFunction &function,
                             llvm::ArrayRef<Value> arguments);
  Value expand(const Function &function, llvm::ArrayRef<Value> arguments);

  mlir::MLIRContext *context;
  llvm::StringRef numerics;
  DiagnosticEngine &diagnostics;
  llvm::BumpPtrAllocator arena;
  unsigned randomNumbers = 0; ///< that were made so far, each of a stream of its own
  unsigned visits = 0;
  unsigned depth = 0;
  /// Calls that are being expanded, and where the first of them is.
  unsigned calls = 0;
  SourceRange outermostCall;
  /// A limit was reached and reported.
  bool exhausted = false;
};

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_EVALUATOR_H
