//===- TorchExpression.h - Values of a rule as expressions of torch -----------------*- C++ -*-===//
// Statements of a Python function for a part of a rule. Element values are tensors of the
// parameter's shape, values over rows, columns and batches have ones for the dimensions that they
// lack, scalars are tensors of no dimension: all broadcast.

#ifndef UPDRAFT_LIB_TARGET_TORCHEXPRESSION_H
#define UPDRAFT_LIB_TARGET_TORCHEXPRESSION_H

#include "Updraft/IR/UpdraftOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace updraft::torch {

/// torch's name of a type of numbers: "torch.float32".
std::string dtypeOf(mlir::Type type);

/// `name` as a Python identifier.
std::string identifier(llvm::StringRef name);

/// `text` in quotes.
std::string quoted(llvm::StringRef text);

/// Where the results of reductions over the group are in `reduced`.
using ReductionPlaces = llvm::DenseMap<mlir::Operation *, unsigned>;

/// One function: what its results need of the rule's body, in the order of the rule.
class FunctionBody {
public:
  FunctionBody(llvm::ArrayRef<mlir::Value> roots, const ReductionPlaces &places);

  /// Prints the statements, with four spaces before each. Fails at an operation that torch has no
  /// counterpart of, and says so in `reason`.
  mlir::LogicalResult print(llvm::raw_ostream &os, std::string &reason);

  /// The expression of a root. The statements have been printed.
  std::string textOf(mlir::Value value);

  /// The same, as a tensor where it may be a number.
  std::string tensorOf(mlir::Value value);

  /// The same, with parentheses where a method could not be called on it otherwise.
  std::string primaryOf(mlir::Value value);

private:
  /// How tightly the outermost operator of a text binds in Python.
  enum class Binding { Compare, Or, Xor, And, Add, Multiply, Unary, Power, Primary };

  struct Expression {
    std::string text;
    Binding binding = Binding::Primary;
    unsigned depth = 0; // of operations
    bool isNumber = false;
  };

  void collect(mlir::Value value);
  std::string unique(llvm::StringRef name);
  Expression make(mlir::Operation &op);
  Expression input(mlir::Operation &op);
  Expression reduction(ReduceOp reduce);
  Expression comparison(mlir::Operation &op);
  Expression binary(mlir::Operation &op, llvm::StringRef symbol, Binding binding);
  Expression call(mlir::Operation &op, llvm::StringRef function);
  Expression convert(mlir::Value operand, mlir::Type type);
  std::string operand(mlir::Value value, Binding least, bool asTensor = false);

  llvm::SmallVector<mlir::Value> roots;
  const ReductionPlaces &places;
  llvm::DenseSet<mlir::Operation *> needed;
  llvm::DenseMap<mlir::Value, unsigned> uses;
  llvm::DenseMap<mlir::Value, Expression> expressions;
  llvm::StringSet<> taken;
};

} // namespace updraft::torch

#endif // UPDRAFT_LIB_TARGET_TORCHEXPRESSION_H
