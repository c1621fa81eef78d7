//===- TorchExpression.h - Values of a rule as expressions of torch -----------------*- C++ -*-===//
// Statements of a Python function for a part of a rule. Element values are tensors of the
// parameter's shape, values over rows, columns and batches have ones for the dimensions that they
// lack, scalars are tensors of no dimension: all broadcast.

#ifndef UPDRAFT_LIB_TARGET_TORCHEXPRESSION_H
#define UPDRAFT_LIB_TARGET_TORCHEXPRESSION_H

#include "TorchGuards.h"
#include "Updraft/IR/UpdraftOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

#include <optional>
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
  /// Where `skip`, which is one of the roots, holds, the others are not taken.
  FunctionBody(llvm::ArrayRef<mlir::Value> roots, const ReductionPlaces &places,
               mlir::Value skip = {});

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

  /// A value as gradients flow to it; or plain, as comparisons see it, which is the same for most.
  struct Version {
    mlir::Value value;
    bool plain;
  };

  using GuardSet = llvm::SetVector<const Guard *>;

  void findNeeded();
  void countUses();
  bool isGiven(mlir::Operation *op) const;
  Version versionOf(mlir::Value value, bool plain) const {
    return {value, plain || !guards->differs(value)};
  }
  bool isGuarded(Version version) const {
    return !version.plain || !guards->differs(version.value);
  }
  Version partOf(Version version, mlir::OpOperand &operand) const {
    return versionOf(operand.get(), !isGuarded(version) || !passesGradient(operand));
  }
  bool needsItself();
  llvm::SmallVector<Version> partsOf(Version version, GuardSet &guardsOfParts) const;
  std::string unique(llvm::StringRef name);
  bool isPrinted(Version version) const {
    return expressions[version.plain].contains(version.value);
  }
  mlir::LogicalResult printUpTo(Version version, llvm::raw_ostream &os, std::string &reason);
  mlir::LogicalResult printOne(Version version, llvm::raw_ostream &os, std::string &reason);
  Expression named(llvm::StringRef name, const Expression &expression, llvm::raw_ostream &os);
  Expression guarded(mlir::OpOperand &operand, Expression expression, llvm::raw_ostream &os);
  const Expression &guardOf(const Guard *guard, llvm::raw_ostream &os);
  Expression guardText(const Guard &guard);
  Expression choiceText(Choice choice);
  Expression make(mlir::Operation &op);
  Expression input(mlir::Operation &op);
  Expression reduction(ReduceOp reduce);
  Expression comparison(mlir::Operation &op);
  Expression binary(mlir::Operation &op, llvm::StringRef symbol, Binding binding);
  Expression call(mlir::Operation &op, llvm::StringRef function);
  Expression convert(mlir::Value operand, mlir::Type type);
  std::string operand(mlir::Value value, Binding least, bool asTensor = false);
  static std::string within(const Expression &expression, Binding least);

  llvm::SmallVector<mlir::Value> roots;
  const ReductionPlaces &places;
  mlir::Value skip;
  llvm::DenseSet<mlir::Operation *> needed;
  std::optional<Guards> guards;
  // By whether they are plain.
  llvm::DenseMap<mlir::Value, unsigned> uses[2];
  llvm::DenseMap<mlir::Value, Expression> expressions[2];
  llvm::DenseMap<const Guard *, Expression> guardExpressions;
  llvm::DenseMap<std::pair<mlir::Value, const Guard *>, Expression> replaced;
  llvm::DenseMap<mlir::Value, Expression> operands; ///< of the operation at hand, or the roots
  llvm::StringSet<> taken;
};

} // namespace updraft::torch

#endif // UPDRAFT_LIB_TARGET_TORCHEXPRESSION_H
