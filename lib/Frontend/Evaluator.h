//===- Evaluator.h - Evaluates expressions at import --------------------------------*- C++ -*-===//
// Evaluates checked expressions with given values for their names, and expands functions. If all
// names are constant, nothing is emitted.

#ifndef UPDRAFT_LIB_FRONTEND_EVALUATOR_H
#define UPDRAFT_LIB_FRONTEND_EVALUATOR_H

#include "Emitter.h"

#include "updraft/Support/Diagnostics.h"

#include "llvm/Support/StringSaver.h"

namespace updraft {

/// The names that an expression may use and their values. If a name repeats, the last one counts.
struct Names {
  const ParsedFile *file;
  llvm::SmallVector<std::pair<llvm::StringRef, Value>, 16> values;

  void add(llvm::StringRef name, const Value &value) { values.emplace_back(name, value); }
  const Value *find(llvm::StringRef name) const;
};

/// The most random numbers per element in one step.
constexpr unsigned maxRandomNumbers = 16;

class Evaluator {
public:
  /// `numerics` is a mode of RuleRequest and must outlive the values.
  Evaluator(mlir::OpBuilder &builder, mlir::Type compute, llvm::StringRef numerics,
            DiagnosticEngine &diagnostics)
      : emit(builder, compute), context(builder.getContext()), numerics(numerics),
        diagnostics(diagnostics) {}

  /// Returns an error value after reporting an error.
  Value evaluate(const Expr &expr, const Names &names);

  /// Evaluates `let` and `repeat` statements in order, and adds their names. Returns false after
  /// reporting an error.
  bool evaluate(llvm::ArrayRef<Let> lets, Names &names);
  bool evaluate(const Repeat &repeat, Names &names);

  /// Returns the location of a range, within the calls that are being expanded.
  mlir::Location location(SourceRange range) const;
  /// Treats what follows as called from these places, of which the first is the outermost.
  void setCalls(llvm::ArrayRef<SourceRange> places);
  /// Returns the location of a name's declaration, with the name.
  mlir::Location location(const Identifier &name) const;

  /// Names the operation that `name` is bound to, if it has no name.
  void nameResult(const Identifier &name, const Value &value) const;

  Emitter emit;
  /// Whether the tensors have rows and columns.
  bool isMatrix = false;
  /// The shapes of matrices for which the result is. A condition that distinguishes between these
  /// leaves those for which it holds.
  MatrixShapes shapes = allShapes;

  /// Whether the type in which tensors are computed is known, so that values can be rounded to it.
  bool isComputeKnown = true;

private:
  /// Counts an expression or an iteration. Returns false if a limit is reached, after reporting it.
  bool visit(SourceRange place);
  Value evaluateInner(const Expr &expr, const Names &names);
  Value evaluateName(const Expr &expr, const Names &names);
  Value evaluateBinary(const Expr &expr, const Names &names);
  /// Returns whether a comparison of rows with columns holds, for the remaining shapes.
  bool holds(MatrixShapes condition);
  Value evaluateIf(const Expr &expr, const Names &names);
  Value evaluateList(const Expr &expr, const Names &names);
  Value evaluateListFunction(const Expr &expr, ListFunction function,
                             llvm::ArrayRef<Value> arguments);
  Value evaluateProduct(const Expr &expr, llvm::StringRef op, ProductKind kind,
                        llvm::ArrayRef<Value> operands);
  bool haveOneShape(const Expr &expr, llvm::StringRef op, llvm::ArrayRef<Value> operands);
  Value evaluateCall(const Expr &expr, const Names &names);
  Value evaluateLargest(const Expr &expr, const RuleFunction &function,
                        llvm::ArrayRef<Value> arguments);
  Value evaluateHistogram(const Expr &expr, const RuleFunction &function,
                          llvm::ArrayRef<Value> arguments);
  Value evaluateRuleFunction(const Expr &expr, const RuleFunction &function,
                             llvm::ArrayRef<Value> arguments);
  Value expand(const Function &function, llvm::ArrayRef<Value> arguments);

  mlir::MLIRContext *context;
  llvm::StringRef numerics;
  DiagnosticEngine &diagnostics;
  llvm::BumpPtrAllocator arena;
  unsigned randomNumbers = 0; ///< created so far, each with its own stream
  unsigned visits = 0;
  unsigned depth = 0;
  /// The calls that are being expanded, and the outermost of them.
  unsigned calls = 0;
  SourceRange outermostCall;
  /// The location of the innermost of them.
  mlir::LocationAttr callLocation;
  /// Whether a limit was reached and reported.
  bool exhausted = false;
};

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_EVALUATOR_H
