//===- Emitter.h - Operators and builtins as operations -----------------------------*- C++ -*-===//
// Emits operations for one operator or builtin, or folds it if its operands are constants. Operands
// must have been checked. A scalar becomes an element operand when it is combined with a tensor.

#ifndef UPDRAFT_LIB_FRONTEND_EMITTER_H
#define UPDRAFT_LIB_FRONTEND_EMITTER_H

#include "Builtins.h"
#include "RuleFunctions.h"
#include "Value.h"

#include "updraft/Frontend/Ast.h"
#include "updraft/Frontend/Limits.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace updraft {

class Emitter {
public:
  /// The builder is used only if an operand is not constant.
  Emitter(mlir::OpBuilder &builder, mlir::Type compute) : builder(builder), compute(compute) {}

  Value unary(UnaryOperator op, Value operand, mlir::Location loc);
  /// Every operator except `^`, including `&&` and `||`.
  Value binary(BinaryOperator op, Value left, Value right, mlir::Location loc);
  Value power(Value base, Value exponent, mlir::Location loc);
  Value select(Value condition, Value whenTrue, Value whenFalse, mlir::Location loc);
  Value builtin(BuiltinKind kind, llvm::ArrayRef<Value> arguments, mlir::Location loc);

  /// All arguments, or one of two, must be tensors of a larger extent than the result.
  Value reduce(const RuleFunction &function, llvm::ArrayRef<Value> arguments, mlir::Location loc);
  /// Both operands must be matrices that have a product. A product with an identity is the other
  /// operand.
  Value product(const Value &left, const Value &right, ProductKind kind, mlir::Location loc);
  Value transpose(const Value &matrix, mlir::Location loc);
  /// Returns the identity matrix with as many rows as `matrix`.
  Value identity(const Value &matrix, mlir::Location loc);
  /// Returns the values, over `extent`, of a function of matrices whose arguments have been
  /// checked.
  Value functionOfMatrices(const RuleFunction &function, llvm::ArrayRef<Value> arguments,
                           Extent extent, mlir::Location loc);
  Value size(Extent over, mlir::Location loc);
  /// Returns the number of rows (over columns) or of columns (over rows) of a matrix.
  Value sizeOf(const Value &matrix, Extent over, mlir::Location loc);
  /// Returns the number of values over `extent` in one place of `over`, a batch or the tensor.
  Value valueCount(Extent extent, Extent over, mlir::Location loc);
  /// Returns a number uniform in [0, 1) from the random stream with this number.
  Value random(unsigned stream, mlir::Location loc);

  /// Returns the number as f64. It must not be a tensor, unless the compute type is f64.
  mlir::Value scalar(const Value &value, mlir::Location loc);
  /// Returns the number as an element in the compute type.
  mlir::Value element(const Value &value, mlir::Location loc);
  mlir::Value flag(const Value &value, mlir::Location loc);

  /// The part of the shorter side that `largest` chooses, if the rule has called it.
  std::optional<double> chosenFraction;

  /// The type of elements.
  mlir::Type computeType() const { return compute; }

  /// The number of emitted operations, with elementary functions weighted by their compile time.
  unsigned operationCount() const { return count; }

private:
  // Returns the operand in the compute type if the result is a tensor, else in f64.
  mlir::Value operand(const Value &value, bool isElement, mlir::Location loc) {
    return isElement ? element(value, loc) : scalar(value, loc);
  }
  /// Returns the number of chosen rows or columns.
  Value chosenCount(mlir::Location loc);
  /// Records the extent of a product, a transpose or a function of matrices.
  Value ofMatrices(Extent extent, mlir::Value value);
  bool keepsExtent(mlir::Value value, Extent extent) const;
  /// Returns `value`, as one over `extent` whatever is folded.
  mlir::Value keptOver(Extent extent, mlir::Value value, mlir::Location loc);
  mlir::Value constant(double number, mlir::Type type, mlir::Location loc);
  template <typename Op, typename... Args> mlir::Value create(mlir::Location loc, Args &&...args) {
    ++count;
    return Op::create(builder, loc, std::forward<Args>(args)...);
  }
  template <typename Op, typename... Args>
  mlir::Value createFunction(mlir::Location loc, Args &&...args) {
    count += operationsOfFunction - 1;
    return create<Op>(loc, std::forward<Args>(args)...);
  }
  static std::optional<MatrixShapes> shapesFor(BinaryOperator op, Value::Side left,
                                               Value::Side right);
  Value compare(BinaryOperator op, const Value &left, const Value &right, mlir::Location loc);
  Value roundToCompute(const Value &value, mlir::Location loc);
  static bool isExpandedExponent(double exponent);
  Value repeatedProduct(const Value &base, uint64_t exponent, mlir::Location loc);

  mlir::OpBuilder &builder;
  mlir::Type compute;
  llvm::DenseMap<std::pair<uint64_t, mlir::Type>, mlir::Value> constants;
  llvm::DenseMap<mlir::Value, mlir::Value> rounded;
  llvm::DenseMap<mlir::Value, Extent> matrices; ///< extents of values made of whole matrices
  unsigned count = 0;
};

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_EMITTER_H
