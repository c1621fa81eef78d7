//===- MatrixShapes.h - Shapes of matrices in arithmetic and products ---------------*- C++ -*-===//
// The checker uses these functions before static conditions are known, and reports nothing where a
// branch may be left out. The evaluator uses them again for the branches that are chosen.

#ifndef UPDRAFT_LIB_FRONTEND_MATRIXSHAPES_H
#define UPDRAFT_LIB_FRONTEND_MATRIXSHAPES_H

#include "RuleFunctions.h"
#include "updraft/Frontend/Ast.h"
#include "updraft/Support/Diagnostics.h"

#include "Updraft/IR/UpdraftEnums.h"

#include <optional>

namespace updraft {

/// The extent of a matrix whose shape depends on a choice that the checker doesn't know. It isn't
/// consistent, and the functions below report nothing about such extents.
constexpr Extent anyMatrix = static_cast<Extent>(0b1111111);

/// "a matrix of rows x columns"; for other values as `describe` has it.
llvm::StringRef describeShape(Extent extent);

/// Returns the extent of arithmetic on values of these extents. If they are matrices of different
/// shapes, reports that `op` at `expr` can't combine them, and returns nothing.
std::optional<Extent> joinShapes(DiagnosticEngine &diagnostics, const Expr &expr,
                                 llvm::StringRef op, llvm::ArrayRef<Extent> extents);

/// Returns the extent of a product of matrices, `left @ right` or `symmetric_product(left, right)`.
/// Reports an error and returns std::nullopt if the matrices have no product.
std::optional<Extent> productShape(DiagnosticEngine &diagnostics, const Expr &expr,
                                   llvm::StringRef op, Extent left, Extent right, bool isSymmetric);

/// Reports an operand of `op` that isn't a matrix. Returns whether it is one.
bool checkMatrix(DiagnosticEngine &diagnostics, const Expr &operand, llvm::StringRef op,
                 Extent extent);

/// Reports a matrix whose rows, or for `columns` whose columns, are chosen. Returns whether they
/// are all of the parameter's.
bool checkUnchosen(DiagnosticEngine &diagnostics, const Expr &operand, const RuleFunction &function,
                   Extent extent);

/// Checks the arguments of a function of matrices: a matrix, and for some a second matrix or a
/// value for each row or column. Reports one of another shape, and returns false.
bool checkFunctionOfMatrices(DiagnosticEngine &diagnostics, const Expr &expr,
                             const RuleFunction &function, llvm::ArrayRef<Extent> extents);

/// Returns the extent of the result of a function of matrices whose arguments have been checked.
Extent extentOfResult(const RuleFunction &function, llvm::ArrayRef<Extent> extents);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_MATRIXSHAPES_H
