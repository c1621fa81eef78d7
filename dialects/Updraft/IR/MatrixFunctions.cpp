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

bool updraft::isGather(MatrixFunction function) {
  return function == MatrixFunction::gather_rows || function == MatrixFunction::gather_columns;
}

bool updraft::isScatter(MatrixFunction function) {
  return function == MatrixFunction::scatter_rows || function == MatrixFunction::scatter_columns;
}

/// Whether the second operand has a value for each row or column of a matrix.
static bool takesKeys(MatrixFunction function) {
  return isSort(function) || isGather(function) || isScatter(function);
}

bool updraft::isOfRows(MatrixFunction function) {
  return function == MatrixFunction::sort_rows || function == MatrixFunction::gather_rows ||
         function == MatrixFunction::scatter_rows;
}

bool updraft::usesChosen(MatrixFunction function) {
  return function == MatrixFunction::largest || isGather(function) || isScatter(function);
}

unsigned updraft::operandCount(MatrixFunction function) {
  return isSolver(function) || takesKeys(function) ? 2 : 1;
}

bool updraft::takesSquare(MatrixFunction function) {
  return !takesKeys(function) && function != MatrixFunction::largest;
}

Extent updraft::keysOf(MatrixFunction function, Extent matrix) {
  if (isGather(function) || isScatter(function))
    return isOfRows(function) ? Extent::row : Extent::column;
  // Down a transposed matrix is what is along the matrix.
  const Extent down = isOfRows(function) ? matrix : transposed(matrix);
  return isWithin(Extent::row, down) ? Extent::row : Extent::column;
}

/// The extent of the matrices that a function makes of chosen rows or columns, or takes.
static Extent chosenBy(MatrixFunction function) {
  return isOfRows(function) ? Extent::chosen_by_columns : Extent::rows_by_chosen;
}

Extent updraft::firstExtentOf(MatrixFunction function) {
  return isScatter(function) ? chosenBy(function) : Extent::element;
}

/// Whether the first operand of a function can have an extent.
static bool canTake(MatrixFunction function, Extent extent) {
  if (function == MatrixFunction::largest)
    return extent == Extent::row || extent == Extent::column;
  if (isGather(function) || isScatter(function))
    return extent == firstExtentOf(function);
  return isSquareExtent(extent) || (isSort(function) && extent == Extent::element);
}

static std::string firstOperandOf(MatrixFunction function) {
  if (function == MatrixFunction::largest)
    return "values over `row` or `column`";
  if (isGather(function) || isScatter(function))
    return llvm::formatv("a matrix over `{0}`", stringifyExtent(firstExtentOf(function)));
  return isSort(function) ? "a matrix over `element` or a square one" : "a square matrix";
}

Extent updraft::extentOfApplied(MatrixFunction function, llvm::ArrayRef<Extent> operands) {
  if (function == MatrixFunction::eigenvalues)
    return isWithin(Extent::row, operands[0]) ? Extent::row : Extent::column;
  if (function == MatrixFunction::transpose)
    return transposed(operands[0]);
  if (isGather(function))
    return chosenBy(function);
  if (isScatter(function))
    return Extent::element;
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
  if (!canTake(function, matrix))
    return llvm::formatv("has a first operand of extent `{0}`, `{1}` takes {2}", name(matrix),
                         stringifyMatrixFunction(function), firstOperandOf(function));
  // apply_c3
  if (isSolver(function) && (!isInMemoryExtent(operands[1]) || !haveProduct(matrix, operands[1])))
    return llvm::formatv(
        "has operands of extents `{0}` and `{1}`, the second must be a matrix with "
        "as many rows as the first",
        name(matrix), name(operands[1]));
  // apply_c4
  if (takesKeys(function) && operands[1] != keysOf(function, matrix))
    return llvm::formatv("{0} a matrix over `{1}` by values over `{2}`, they must be over `{3}`",
                         isSort(function)     ? "sorts"
                         : isGather(function) ? "gathers"
                                              : "scatters",
                         name(matrix), name(operands[1]), name(keysOf(function, matrix)));
  return {};
}
