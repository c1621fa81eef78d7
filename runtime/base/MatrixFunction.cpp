//===- MatrixFunction.cpp - Functions of whole matrices ---------------------------------------===//

#include "runtime/base/MatrixFunction.h"

using namespace updraft::runtime;

const char *updraft::runtime::nameOf(MatrixFunction function) {
  switch (function) {
  case MatrixFunction::QR:
    return "qr";
  case MatrixFunction::Cholesky:
    return "cholesky";
  case MatrixFunction::Eigenvectors:
    return "eigenvectors";
  case MatrixFunction::Eigenvalues:
    return "eigenvalues";
  case MatrixFunction::SolveLower:
    return "solve_lower";
  case MatrixFunction::SolveUpper:
    return "solve_upper";
  case MatrixFunction::SortRows:
    return "sort_rows";
  case MatrixFunction::SortColumns:
    return "sort_columns";
  case MatrixFunction::Transpose:
    return "transpose";
  case MatrixFunction::Largest:
    return "largest";
  case MatrixFunction::GatherRows:
    return "gather_rows";
  case MatrixFunction::GatherColumns:
    return "gather_columns";
  case MatrixFunction::ScatterRows:
    return "scatter_rows";
  case MatrixFunction::ScatterColumns:
    return "scatter_columns";
  }
  return "";
}
