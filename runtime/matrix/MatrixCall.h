//===- MatrixCall.h - Calls of functions of whole matrices --------------------------*- C++ -*-===//
// The runtime and the reference interpreter compute `updraft.call` by these functions.

#ifndef UPDRAFT_RUNTIME_MATRIX_MATRIXCALL_H
#define UPDRAFT_RUNTIME_MATRIX_MATRIXCALL_H

#include "runtime/base/MatrixFunction.h"
#include "runtime/matrix/Lapack.h"

#include <cstddef>
#include <cstdint>

namespace updraft::runtime {

/// A call for one matrix. Matrices are stored by rows, without gaps. The first operand is of
/// rows x columns, and so is the result of most functions. The result of `Transpose` is of
/// columns x rows, and that of `Eigenvalues` has one value per row. The first operand of the
/// solvers is square; their second is of rows x columns. The second operand of functions that
/// sort, gather or scatter has one value per row or column. The result of a gather, and the first
/// operand of a scatter, have `chosen` rows or columns in place of all. `Largest` takes values as a
/// matrix of one column. Nothing overlaps.
struct MatrixCall {
  MatrixFunction function;
  upd_dtype dtype; ///< UPD_F32 or UPD_F64, of all operands and the result
  int64_t rows, columns, chosen;
  const void *operands[2];
  void *result;
  void *workspace; ///< workspaceOf bytes, aligned to 64
};

/// Returns the bytes of memory that a call needs.
size_t workspaceOf(MatrixFunction function, int64_t rows, int64_t columns);

/// Runs a call on this thread. If an operand of a factorization or a solver has an element that
/// isn't finite, or the factorization doesn't exist, the result is NaN. `lapack` may be null if the
/// function doesn't need it.
void run(const MatrixCall &call, const Lapack *lapack);

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_MATRIX_MATRIXCALL_H
