//===- MatrixFunctions.cpp - Operands of functions of whole matrices --------------------------===//

#include "Updraft/IR/MatrixFunctions.h"

#include "llvm/Support/FormatVariadic.h"

using namespace updraft;

static bool isSolver(MatrixFunction function) {
  return function == MatrixFunction::solve_lower || function == MatrixFunction::solve_upper;
}

static bool isSort(MatrixFunction function) {
  return function == MatrixFunction::sort_rows || function == MatrixFunction::sort_columns;
}

unsigned updraft::operandCount(MatrixFunction function) {
  return isSolver(function) || isSort(function) ? 2 : 1;
}

bool updraft::takesSquare(MatrixFunction function) { return !isSort(function); }

Extent updraft::keysOf(MatrixFunction function, Extent matrix) {
  // Down a transposed matrix is what is along the matrix.
  const Extent down = function == MatrixFunction::sort_rows ? matrix : transposed(matrix);
  return isWithin(Extent::row, down) ? Extent::row : Extent::column;
}

Extent updraft::extentOfApplied(MatrixFunction function, llvm::ArrayRef<Extent> operands) {
  if (function == MatrixFunction::eigenvalues)
    return isWithin(Extent::row, operands[0]) ? Extent::row : Extent::column;
  if (function == MatrixFunction::transpose)
    return transposed(operands[0]);
  return isSolver(function) ? operands[1] : operands[0];
}

std::string updraft::problemOfApplied(MatrixFunction function, llvm::ArrayRef<Extent> operands) {
  auto name = [](Extent extent) { return stringifyExtent(extent); };
  // apply_c1
  if (operands.size() != operandCount(function))
    return llvm::formatv("has {0} operands, `{1}` takes {2}", operands.size(),
                         stringifyMatrixFunction(function), operandCount(function));
  // apply_c2
  const Extent matrix = operands[0];
  if (!isSquareExtent(matrix) && (takesSquare(function) || matrix != Extent::element))
    return llvm::formatv("has a first operand of extent `{0}`, `{1}` takes {2}", name(matrix),
                         stringifyMatrixFunction(function),
                         takesSquare(function) ? "a square matrix"
                                               : "a matrix over `element` or a square one");
  // apply_c3
  if (isSolver(function) && (!isInMemoryExtent(operands[1]) || !haveProduct(matrix, operands[1])))
    return llvm::formatv(
        "has operands of extents `{0}` and `{1}`, the second must be a matrix with "
        "as many rows as the first",
        name(matrix), name(operands[1]));
  // apply_c4
  if (isSort(function) && operands[1] != keysOf(function, matrix))
    return llvm::formatv("sorts a matrix over `{0}` by values over `{1}`, they must be over `{2}`",
                         name(matrix), name(operands[1]), name(keysOf(function, matrix)));
  return {};
}
