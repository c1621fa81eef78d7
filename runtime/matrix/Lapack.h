//===- Lapack.h - LAPACK, found at run time -----------------------------------------*- C++ -*-===//
// Only rules with factorizations need it, so programs that use none don't need the library.

#ifndef UPDRAFT_RUNTIME_MATRIX_LAPACK_H
#define UPDRAFT_RUNTIME_MATRIX_LAPACK_H

#include "runtime/base/RuleInterface.h"
#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>

namespace updraft::runtime {

/// The routines that factorizations use, for elements of type T. Fortran's interface: arguments are
/// addresses, matrices are stored by columns, and the lengths of texts come last.
template <typename T> struct LapackRoutines {
  void (*geqrf)(const int32_t *m, const int32_t *n, T *a, const int32_t *lda, T *tau, T *work,
                const int32_t *lwork, int32_t *info);
  void (*orgqr)(const int32_t *m, const int32_t *n, const int32_t *k, T *a, const int32_t *lda,
                const T *tau, T *work, const int32_t *lwork, int32_t *info);
  void (*potrf)(const char *uplo, const int32_t *n, T *a, const int32_t *lda, int32_t *info,
                size_t);
  void (*trsm)(const char *side, const char *uplo, const char *transa, const char *diag,
               const int32_t *m, const int32_t *n, const T *alpha, const T *a, const int32_t *lda,
               T *b, const int32_t *ldb, size_t, size_t, size_t, size_t);
};

/// Immutable after it is loaded, so threads may share it.
struct Lapack {
  LapackRoutines<float> single;
  LapackRoutines<double> real;
  /// Eigenvalues and eigenvectors are computed in f64 for both types.
  void (*dsyevd)(const char *jobz, const char *uplo, const int32_t *n, double *a,
                 const int32_t *lda, double *w, double *work, const int32_t *lwork, int32_t *iwork,
                 const int32_t *liwork, int32_t *info, size_t, size_t);

  template <typename T> const LapackRoutines<T> &of() const;

  /// Loads the library at the first call: the file that the environment variable UPDRAFT_LAPACK
  /// names, or else OpenBLAS, or else any LAPACK of the system. OpenBLAS then uses one thread,
  /// unless the process has loaded it before. UPD_UNSUPPORTED: it can't be loaded.
  static Status load(const Lapack *&result);
  /// Loads it if a plan of the rule needs it.
  static Status loadFor(const RuleInterface &rule);
};

template <> inline const LapackRoutines<float> &Lapack::of() const { return single; }
template <> inline const LapackRoutines<double> &Lapack::of() const { return real; }

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_MATRIX_LAPACK_H
