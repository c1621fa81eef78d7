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
                describeShape(right))
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
