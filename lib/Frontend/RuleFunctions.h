//===- RuleFunctions.h - Reductions, sizes and random numbers -----------------------*- C++ -*-===//
// The functions that map to operations of the dialect instead of arithmetic. They are available in
// a rule's `update`, and in functions that it calls.

#ifndef UPDRAFT_LIB_FRONTEND_RULEFUNCTIONS_H
#define UPDRAFT_LIB_FRONTEND_RULEFUNCTIONS_H

#include "Updraft/IR/MatrixFunctions.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace updraft {

enum class RuleFunctionKind : uint8_t {
  Reduce, ///< of one argument, or of the product of two
  Size,   ///< the number of values that a reduction over the extent takes
  Count,  ///< the number of its argument's values in one place of the extent
  Random,
  SizeOf,    ///< the number of rows or columns of a matrix
  Histogram, ///< how many values are between bounds, which are a list
  Transpose,
  Product,
  Identity, ///< the identity matrix with as many rows as its argument
  Apply,    ///< a function of whole matrices
  Diagonal, ///< of a square matrix, over its rows or columns
  ScaleColumns,
  Largest, ///< which values are largest, as many as a part of the shorter side
};

/// The properties of a product of matrices.
struct ProductKind {
  bool isSymmetric = false;
  std::optional<OperandFormat> operandFormat; ///< to which `fast` may round operands
};

struct RuleFunction {
  llvm::StringRef name;
  unsigned arity;
  RuleFunctionKind kind;
  Extent over;
  ReductionKind reduction = ReductionKind::sum;
  MatrixFunction applied = MatrixFunction::qr;
  ProductKind product = {};

  /// Whether it uses rows, columns or batches, which only a matrix has.
  bool needsMatrix() const {
    return isOfMatrix(over) || kind == RuleFunctionKind::SizeOf ||
           kind >= RuleFunctionKind::Transpose;
  }
  /// Whether it is a function of a matrix as a whole, without a shape of its own.
  bool isOfWholeMatrices() const {
    return kind >= RuleFunctionKind::Apply && kind <= RuleFunctionKind::ScaleColumns;
  }
  /// Whether its first argument must be a square matrix.
  bool takesSquare() const {
    return kind == RuleFunctionKind::Diagonal ||
           (kind == RuleFunctionKind::Apply && updraft::takesSquare(applied));
  }
  /// Whether its second argument chooses rows or columns, as `largest` returns them.
  bool takesPlaces() const {
    return kind == RuleFunctionKind::Apply &&
           (updraft::isGather(applied) || updraft::isScatter(applied));
  }
  /// Whether its second argument has a value for each row or column of the first.
  bool takesVector() const {
    return kind == RuleFunctionKind::ScaleColumns ||
           (kind == RuleFunctionKind::Apply && arity == 2 && !updraft::takesSquare(applied));
  }
};

/// Whether values of extent `from`, which vary within a tensor, can be reduced to `over`.
inline bool canReduce(Extent from, Extent over) {
  return !isWithin(from, Extent::tensor) && from != over && isWithin(over, from);
}

llvm::ArrayRef<RuleFunction> ruleFunctions();

/// Returns the function with this many arguments, or any one of the name, or null. Includes only
/// the one-argument form of `max`.
const RuleFunction *findRuleFunction(llvm::StringRef name, size_t arguments = 0);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_RULEFUNCTIONS_H
