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
  Transpose = UPD_FUNCTION_TRANSPOSE
};

/// The name in the language, the dialect and errors: "sort_rows".
const char *nameOf(MatrixFunction function);

inline bool isSolver(MatrixFunction function) {
  return function == MatrixFunction::SolveLower || function == MatrixFunction::SolveUpper;
}

inline bool isSort(MatrixFunction function) {
  return function == MatrixFunction::SortRows || function == MatrixFunction::SortColumns;
}

/// Whether LAPACK computes the function.
inline bool needsLapack(MatrixFunction function) { return function <= MatrixFunction::SolveUpper; }

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_MATRIXFUNCTION_H
