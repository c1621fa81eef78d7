//===- MatrixFunction.h - Functions of whole matrices -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_MATRIXFUNCTION_H
#define UPDRAFT_RUNTIME_BASE_MATRIXFUNCTION_H

#include "updraft-c/descriptor.h"

#include <cstdint>

namespace updraft::runtime {

/// As upd_matrix_function, which defines the functions.
enum class MatrixFunction : uint8_t {
  QR = UPD_FUNCTION_QR,
  Cholesky = UPD_FUNCTION_CHOLESKY,
  Eigenvectors = UPD_FUNCTION_EIGENVECTORS,
  Eigenvalues = UPD_FUNCTION_EIGENVALUES,
  SolveLower = UPD_FUNCTION_SOLVE_LOWER,
  SolveUpper = UPD_FUNCTION_SOLVE_UPPER,
  SortRows = UPD_FUNCTION_SORT_ROWS,
  SortColumns = UPD_FUNCTION_SORT_COLUMNS,
  Transpose = UPD_FUNCTION_TRANSPOSE,
  Largest = UPD_FUNCTION_LARGEST,
  GatherRows = UPD_FUNCTION_GATHER_ROWS,
  GatherColumns = UPD_FUNCTION_GATHER_COLUMNS,
  ScatterRows = UPD_FUNCTION_SCATTER_ROWS,
  ScatterColumns = UPD_FUNCTION_SCATTER_COLUMNS
};

/// The name in the language, the dialect and errors: "sort_rows".
const char *nameOf(MatrixFunction function);

/// LAPACK counts the workspace of an eigenproblem, 2 n^2 + 6 n + 1 numbers, in 32 bits.
constexpr int64_t maxEigenproblemRows = 32'766;

inline bool isEigenproblem(MatrixFunction function) {
  return function == MatrixFunction::Eigenvectors || function == MatrixFunction::Eigenvalues;
}

inline bool isSolver(MatrixFunction function) {
  return function == MatrixFunction::SolveLower || function == MatrixFunction::SolveUpper;
}

inline bool isSort(MatrixFunction function) {
  return function == MatrixFunction::SortRows || function == MatrixFunction::SortColumns;
}

inline bool isGather(MatrixFunction function) {
  return function == MatrixFunction::GatherRows || function == MatrixFunction::GatherColumns;
}

inline bool isScatter(MatrixFunction function) {
  return function == MatrixFunction::ScatterRows || function == MatrixFunction::ScatterColumns;
}

/// Whether the function sorts or chooses rows, not columns.
inline bool isOfRows(MatrixFunction function) {
  return function == MatrixFunction::SortRows || function == MatrixFunction::GatherRows ||
         function == MatrixFunction::ScatterRows;
}

/// Whether the second operand has a value for each row or column.
inline bool takesKeys(MatrixFunction function) {
  return isSort(function) || isGather(function) || isScatter(function);
}

/// Whether only a plan that chooses rows or columns has the function.
inline bool usesChosen(MatrixFunction function) { return function >= MatrixFunction::Largest; }

/// The operand that has the rows and columns of a call, or -1 for the result.
inline int shapedBy(MatrixFunction function) {
  return isSolver(function) ? 1 : isScatter(function) ? -1 : 0;
}

/// Whether GPUs have a kernel for the function. If not, the host computes it there.
inline bool hasKernel(MatrixFunction function) { return function == MatrixFunction::Transpose; }

/// Whether LAPACK computes the function.
inline bool needsLapack(MatrixFunction function) { return function <= MatrixFunction::SolveUpper; }

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_MATRIXFUNCTION_H
