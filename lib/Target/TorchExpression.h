//===- TorchExpression.h - Values of a rule as torch expressions --------------------*- C++ -*-===//
// Prints a part of a rule as statements of a Python function. Element values are tensors of the
// parameter's shape. Values over rows, columns and batches have size 1 in the dimensions that they
// lack, and scalars have no dimensions, so all of them broadcast.

#ifndef UPDRAFT_LIB_TARGET_TORCHEXPRESSION_H
#define UPDRAFT_LIB_TARGET_TORCHEXPRESSION_H

#include "TorchGuards.h"
#include "Updraft/IR/UpdraftOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

#include <optional>
#include <string>

namespace updraft::torch {

/// Returns torch's name of a number type: "torch.float32".
std::string dtypeOf(mlir::Type type);

/// `name` as a Python identifier.
std::string identifier(llvm::StringRef name);

/// `text` in quotes.
std::string quoted(llvm::StringRef text);

/// The index in `reduced` of each reduction over the group.
using ReductionPlaces = llvm::DenseMap<mlir::Operation *, unsigned>;

/// One function: the part of the rule's body that its results need, in the order of the rule.
class FunctionBody {
public:
  /// If `skip`, one of the roots, holds, the other roots are not used.
  FunctionBody(llvm::ArrayRef<mlir::Value> roots, const ReductionPlaces &places,
               mlir::Value skip = {});

  /// Prints the statements, indented by four spaces. Fails at an operation that torch lacks, and
  /// stores that in `reason`.
  mlir::LogicalResult print(llvm::raw_ostream &os, std::string &reason);

  /// Returns the expression of a root. The statements must have been printed.
  std::string textOf(mlir::Value value);

  /// The same, converted to a tensor if it may be a number.
  std::string tensorOf(mlir::Value value);

  /// The same, in parentheses if a method call needs them.
  std::string primaryOf(mlir::Value value);

private:
  /// The precedence of the outermost operator of a text in Python.
  enum class Binding { Compare, Or, Xor, And, Add, Multiply, Unary, Power, Primary };

  struct Expression {
    std::string text;
    Binding binding = Binding::Primary;
    unsigned depth = 0; // nesting of operations
    bool isNumber = false;
  };

  /// A value as gradients flow to it, or plain, as comparisons see it. Most values have only one
  /// version.
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
  // Indexed by whether the version is plain.
  llvm::DenseMap<mlir::Value, unsigned> uses[2];
  llvm::DenseMap<mlir::Value, Expression> expressions[2];
  llvm::DenseMap<const Guard *, Expression> guardExpressions;
  llvm::DenseMap<std::pair<mlir::Value, const Guard *>, Expression> replaced;
  llvm::DenseMap<mlir::Value, Expression> operands; ///< of the current operation, or the roots
  llvm::StringSet<> taken;
};

} // namespace updraft::torch

#endif // UPDRAFT_LIB_TARGET_TORCHEXPRESSION_H
