//===- MatrixShapes.cpp - Shapes of matrices in arithmetic and products -----------------------===//

#include "MatrixShapes.h"

#include "Type.h"

using namespace updraft;
using llvm::StringRef;

StringRef updraft::describeShape(Extent extent) {
  return extent == Extent::element ? "a matrix of rows x columns"
                                   : describe(Type{Kind::Number, extent});
}

std::optional<Extent> updraft::joinShapes(DiagnosticEngine &diagnostics, const Expr &expr,
                                          StringRef op, llvm::ArrayRef<Extent> extents) {
  Extent joined = Extent::model;
  bool areKnown = llvm::all_of(extents, isConsistent);
  for (Extent extent : extents) {
    if (areKnown && !isConsistent(join(joined, extent))) {
      diagnostics.report(DiagnosticKind::MatrixShapes, expr.focus, op, describeShape(joined),
                         describeShape(extent));
      return std::nullopt;
    }
    joined = join(joined, extent);
  }
  return joined;
}

bool updraft::checkMatrix(DiagnosticEngine &diagnostics, const Expr &operand, StringRef op,
                          Extent extent) {
  if (isMatrixExtent(extent))
    return true;
  diagnostics.report(DiagnosticKind::MatrixOperand, operand.range, op,
                     describe(Type{Kind::Number, extent}));
  return false;
}

/// Says how to transpose or exchange two matrices so that they have a product. Empty if neither
/// helps.
static StringRef productHint(Extent left, Extent right) {
  const bool byLeft = haveProduct(transposed(left), right),
             byRight = haveProduct(left, transposed(right));
  if (byLeft && byRight)
    return "; transpose one of them";
  if (!byLeft && !byRight)
    return haveProduct(right, left) ? "; exchange them" : "";
  if (haveProduct(right, left))
    return byLeft ? "; exchange them, or transpose the left one"
                  : "; exchange them, or transpose the right one";
  return byLeft ? "; transpose the left one" : "; transpose the right one";
}

std::optional<Extent> updraft::productShape(DiagnosticEngine &diagnostics, const Expr &expr,
                                            StringRef op, Extent left, Extent right,
                                            bool isSymmetric) {
  if (!checkMatrix(diagnostics, *expr.operands[0], op, left) ||
      !checkMatrix(diagnostics, *expr.operands[1], op, right))
    return std::nullopt;
  if (!isConsistent(left) || !isConsistent(right))
    return anyMatrix;
  if (!haveProduct(left, right)) {
    diagnostics
        .report(DiagnosticKind::ProductShapes, expr.focus, op, describeShape(left),
                describeShape(right), productHint(left, right))
        .note(DiagnosticKind::LeftOperand, expr.operands[0]->range)
        .note(DiagnosticKind::RightOperand, expr.operands[1]->range);
    return std::nullopt;
  }
  Extent result = productOf(left, right);
  if (isSymmetric && result != transposed(result)) {
    diagnostics.report(DiagnosticKind::NotSquare, expr.focus, op, describeShape(result));
    return std::nullopt;
  }
  return result;
}

/// Returns the extent of a value for each row or column of a matrix, whichever `function` takes.
static Extent vectorExtent(const RuleFunction &function, Extent matrix) {
  return keysOf(function.kind == RuleFunctionKind::ScaleColumns ? MatrixFunction::sort_columns
                                                                : function.applied,
                matrix);
}

bool updraft::checkUnchosen(DiagnosticEngine &diagnostics, const Expr &operand,
                            const RuleFunction &function, Extent extent) {
  const bool isOfColumns =
      function.kind == RuleFunctionKind::ScaleColumns ||
      (function.kind == RuleFunctionKind::SizeOf && function.over == Extent::row);
  if (!hasChosenDown(isOfColumns ? transposed(extent) : extent))
    return true;
  diagnostics.report(DiagnosticKind::ChosenSide, operand.range, function.name,
                     describeShape(extent));
  return false;
}

/// Whether the first argument is a matrix that gathers or scatters take, or of all rows and columns
/// for other functions.
static bool checkChosen(DiagnosticEngine &diagnostics, const Expr &operand,
                        const RuleFunction &function, Extent extent) {
  if (!function.takesPlaces()) {
    if (function.kind == RuleFunctionKind::ScaleColumns)
      return checkUnchosen(diagnostics, operand, function, extent);
    if (!hasChosen(extent))
      return true;
    diagnostics.report(DiagnosticKind::ChosenSide, operand.range, function.name,
                       describeShape(extent));
    return false;
  }
  const Extent expected = firstExtentOf(function.applied);
  if (extent == expected)
    return true;
  diagnostics.report(DiagnosticKind::ChosenOperand, operand.range, function.name,
                     describeShape(expected), describeShape(extent));
  return false;
}

bool updraft::checkFunctionOfMatrices(DiagnosticEngine &diagnostics, const Expr &expr,
                                      const RuleFunction &function,
                                      llvm::ArrayRef<Extent> extents) {
  const Expr &first = *expr.operands[0];
  const Extent matrix = extents[0];
  if (!checkMatrix(diagnostics, first, function.name, matrix))
    return false;
  if (!checkChosen(diagnostics, first, function, matrix))
    return false;
  if (function.takesSquare() && !isSquareExtent(matrix)) {
    diagnostics.report(DiagnosticKind::SquareOperand, first.range, function.name,
                       describeShape(matrix));
    return false;
  }
  if (function.kind == RuleFunctionKind::Apply && !isInMemoryExtent(matrix)) {
    diagnostics.report(DiagnosticKind::MatrixInMemory, first.range, function.name,
                       describeShape(matrix));
    return false;
  }
  if (function.takesVector() && extents[1] != vectorExtent(function, matrix)) {
    diagnostics.report(
        DiagnosticKind::KeysOperand, expr.operands[1]->range, function.name,
        function.kind == RuleFunctionKind::Apply && isOfRows(function.applied) ? "row" : "column",
        describeShape(matrix), describeShape(extents[1]));
    return false;
  }
  if (function.arity == 2 && !function.takesVector() &&
      (!isInMemoryExtent(extents[1]) || !haveProduct(matrix, extents[1]))) {
    diagnostics.report(DiagnosticKind::SolverOperand, expr.focus, function.name,
                       describeShape(matrix), describeShape(extents[1]));
    return false;
  }
  return true;
}

Extent updraft::extentOfResult(const RuleFunction &function, llvm::ArrayRef<Extent> extents) {
  if (function.kind == RuleFunctionKind::Diagonal)
    return extentOfApplied(MatrixFunction::eigenvalues, extents);
  if (function.kind == RuleFunctionKind::ScaleColumns)
    return extents[0];
  return extentOfApplied(function.applied, extents);
}
