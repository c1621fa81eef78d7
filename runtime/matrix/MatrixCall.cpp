//===- MatrixCall.cpp - Calls of functions of whole matrices ----------------------------------===//
// LAPACK stores matrices by columns. A matrix that is stored by rows is its own transpose there.

#include "runtime/matrix/MatrixCall.h"

#include "runtime/base/Alignment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

using namespace updraft::runtime;

namespace {

/// The block size for which the factorizations get workspace.
constexpr int64_t lapackBlock = 64;

/// Cuts the workspace into arrays. Without memory, it counts their bytes.
class Workspace {
public:
  explicit Workspace(void *memory = nullptr) : memory(static_cast<char *>(memory)) {}

  template <typename T> T *take(int64_t count) {
    char *start = memory ? memory + used : nullptr;
    used += alignedSize(static_cast<size_t>(count) * sizeof(T));
    return reinterpret_cast<T *>(start);
  }
  size_t bytes() const { return used; }

private:
  char *memory;
  size_t used = 0;
};

// The arrays of each function, in the order in which `Workspace` gives them out.
template <typename T> struct QRArrays {
  T *matrix, *tau, *work;
  QRArrays(Workspace &memory, int64_t n)
      : matrix(memory.take<T>(n * n)), tau(memory.take<T>(n)),
        work(memory.take<T>(n * lapackBlock)) {}
};

struct EigenArrays {
  int64_t workSize, integerSize;
  double *matrix, *values, *work;
  int32_t *integers;
  EigenArrays(Workspace &memory, int64_t n)
      : workSize(1 + 6 * n + 2 * n * n), integerSize(3 + 5 * n), matrix(memory.take<double>(n * n)),
        values(memory.take<double>(n)), work(memory.take<double>(workSize)),
        integers(memory.take<int32_t>(integerSize)) {}
};

struct SortArrays {
  int32_t *order;
  SortArrays(Workspace &memory, int64_t count) : order(memory.take<int32_t>(count)) {}
};

template <typename T> bool areFinite(std::span<const T> values) {
  return std::all_of(values.begin(), values.end(), [](T value) { return std::isfinite(value); });
}

template <typename T> class Runner {
public:
  Runner(const MatrixCall &call, const Lapack *lapack)
      : call(call), lapack(lapack), memory(call.workspace), first(operand(0)), second(operand(1)),
        result(static_cast<T *>(call.result)) {}

  void run() {
    switch (call.function) {
    case MatrixFunction::QR:
      return runQR();
    case MatrixFunction::Cholesky:
      return runCholesky();
    case MatrixFunction::Eigenvectors:
    case MatrixFunction::Eigenvalues:
      return runEigen();
    case MatrixFunction::SolveLower:
    case MatrixFunction::SolveUpper:
      return solve();
    case MatrixFunction::SortRows:
    case MatrixFunction::SortColumns:
      return sort();
    case MatrixFunction::Transpose:
      return transpose(first, result, call.rows, call.columns);
    case MatrixFunction::Largest:
      return largest();
    case MatrixFunction::GatherRows:
    case MatrixFunction::GatherColumns:
      return gather();
    case MatrixFunction::ScatterRows:
    case MatrixFunction::ScatterColumns:
      return scatter();
    }
  }

private:
  const T *operand(size_t index) const { return static_cast<const T *>(call.operands[index]); }

  static void transpose(const T *from, T *to, int64_t rows, int64_t columns) {
    constexpr int64_t tile = 16; // a line of a cache holds as many floats
    for (int64_t row = 0; row < rows; row += tile)
      for (int64_t column = 0; column < columns; column += tile)
        for (int64_t i = row; i < std::min(row + tile, rows); ++i)
          for (int64_t j = column; j < std::min(column + tile, columns); ++j)
            to[j * rows + i] = from[i * columns + j];
  }

  void fillNaN(int64_t count) const {
    std::fill_n(result, count, std::numeric_limits<T>::quiet_NaN());
  }

  void runQR() {
    const auto n = static_cast<int32_t>(call.rows);
    const QRArrays<T> arrays(memory, n);
    if (!areFinite(std::span(first, static_cast<size_t>(call.rows * call.rows))))
      return fillNaN(call.rows * call.rows);
    transpose(first, arrays.matrix, n, n);
    const int32_t workSize = n * static_cast<int32_t>(lapackBlock);
    int32_t info = 0;
    const LapackRoutines<T> &routines = lapack->of<T>();
    routines.geqrf(&n, &n, arrays.matrix, &n, arrays.tau, arrays.work, &workSize, &info);
    // R's diagonal becomes positive: Q D and D R for the signs D.
    T *signs = result; // of as many elements as the result has columns
    for (int64_t j = 0; j < n; ++j)
      signs[j] = arrays.matrix[j * n + j] < 0 ? T(-1) : T(1);
    routines.orgqr(&n, &n, &n, arrays.matrix, &n, arrays.tau, arrays.work, &workSize, &info);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < n; ++i)
        arrays.matrix[j * n + i] *= signs[j];
    transpose(arrays.matrix, result, n, n);
  }

  void runCholesky() {
    const auto n = static_cast<int32_t>(call.rows);
    std::copy_n(first, call.rows * call.rows, result);
    for (int64_t i = 0; i < n; ++i)
      std::fill_n(result + i * n + i + 1, n - i - 1, T(0));
    int32_t info = 0;
    if (areFinite(std::span<const T>(result, static_cast<size_t>(call.rows * call.rows))))
      lapack->of<T>().potrf("U", &n, result, &n, &info, 1);
    else
      info = 1;
    if (info != 0)
      fillNaN(call.rows * call.rows);
  }

  void runEigen() {
    const auto n = static_cast<int32_t>(call.rows);
    const EigenArrays arrays(memory, n);
    const bool onlyValues = call.function == MatrixFunction::Eigenvalues;
    // The lower triangle by rows is the upper one by columns.
    std::fill_n(arrays.matrix, call.rows * call.rows, 0.0);
    bool isFinite = true;
    for (int64_t i = 0; i < n; ++i) {
      isFinite = isFinite && areFinite(std::span(first + i * n, static_cast<size_t>(i + 1)));
      std::copy_n(first + i * n, i + 1, arrays.matrix + i * n);
    }
    const auto workSize = static_cast<int32_t>(arrays.workSize);
    const auto integerSize = static_cast<int32_t>(arrays.integerSize);
    int32_t info = isFinite ? 0 : 1;
    if (isFinite)
      lapack->dsyevd(onlyValues ? "N" : "V", "U", &n, arrays.matrix, &n, arrays.values, arrays.work,
                     &workSize, arrays.integers, &integerSize, &info, 1, 1);
    if (info != 0)
      return fillNaN(onlyValues ? n : call.rows * call.rows);
    if (onlyValues) {
      std::copy_n(arrays.values, n, result);
      return;
    }
    for (int64_t j = 0; j < n; ++j) {
      const double *vector = arrays.matrix + j * n;
      const double *largest = std::max_element(
          vector, vector + n, [](double a, double b) { return std::fabs(a) < std::fabs(b); });
      const double sign = n != 0 && *largest < 0 ? -1 : 1;
      for (int64_t i = 0; i < n; ++i)
        result[i * n + j] = static_cast<T>(sign * vector[i]);
    }
  }

  void solve() {
    const auto n = static_cast<int32_t>(call.rows), m = static_cast<int32_t>(call.columns);
    const bool isLower = call.function == MatrixFunction::SolveLower;
    const auto count = static_cast<size_t>(call.rows * call.columns);
    bool isFinite = areFinite(std::span(second, count));
    for (int64_t i = 0; i < n; ++i) {
      const int64_t begin = isLower ? 0 : i, end = isLower ? i + 1 : n;
      isFinite =
          isFinite && areFinite(std::span(first + i * n + begin, static_cast<size_t>(end - begin)));
    }
    if (!isFinite)
      return fillNaN(call.rows * call.columns);
    std::copy_n(second, count, result);
    // By columns this is x l = b with the transposes of x, l and b.
    const T one = 1;
    lapack->of<T>().trsm("R", isLower ? "U" : "L", "N", "N", &m, &n, &one, first, &n, result, &m, 1,
                         1, 1, 1);
  }

  /// Orders values descending, then by position. NaN comes last.
  static auto before(const T *values) {
    return [values](int32_t a, int32_t b) {
      const bool isNumberA = !std::isnan(values[a]), isNumberB = !std::isnan(values[b]);
      if (isNumberA != isNumberB)
        return isNumberA;
      if (isNumberA && values[a] != values[b])
        return values[a] > values[b];
      return a < b;
    };
  }

  /// Returns the positions 0, 1, ... of `count` values.
  int32_t *positions(int64_t count) {
    const SortArrays arrays(memory, count);
    std::iota(arrays.order, arrays.order + count, 0);
    return arrays.order;
  }

  /// Returns the positions of the largest of `count` values, as many as are chosen, in ascending
  /// order.
  std::span<const int32_t> choose(const T *values, int64_t count) {
    int32_t *order = positions(count);
    std::nth_element(order, order + call.chosen, order + count, before(values));
    std::sort(order, order + call.chosen);
    return {order, static_cast<size_t>(call.chosen)};
  }

  void largest() {
    const std::span<const int32_t> places = choose(first, call.rows);
    std::fill_n(result, call.rows, T(0));
    for (const int32_t place : places)
      result[place] = 1;
  }

  void gather() {
    if (call.function == MatrixFunction::GatherRows) {
      T *to = result;
      for (const int32_t row : choose(second, call.rows))
        to = std::copy_n(first + row * call.columns, call.columns, to);
      return;
    }
    const std::span<const int32_t> places = choose(second, call.columns);
    T *to = result;
    for (int64_t row = 0; row < call.rows; ++row)
      for (const int32_t column : places)
        *to++ = first[row * call.columns + column];
  }

  void scatter() {
    std::fill_n(result, call.rows * call.columns, T(0));
    const T *from = first;
    if (call.function == MatrixFunction::ScatterRows) {
      for (const int32_t row : choose(second, call.rows)) {
        std::copy_n(from, call.columns, result + row * call.columns);
        from += call.columns;
      }
      return;
    }
    const std::span<const int32_t> places = choose(second, call.columns);
    for (int64_t row = 0; row < call.rows; ++row)
      for (const int32_t column : places)
        result[row * call.columns + column] = *from++;
  }

  void sort() {
    const bool ofRows = call.function == MatrixFunction::SortRows;
    const int64_t count = ofRows ? call.rows : call.columns;
    int32_t *order = positions(count);
    std::sort(order, order + count, before(second));
    for (int64_t i = 0; i < call.rows; ++i) {
      T *to = result + i * call.columns;
      const T *from = first + (ofRows ? order[i] : i) * call.columns;
      for (int64_t j = 0; j < call.columns; ++j)
        to[j] = from[ofRows ? j : order[j]];
    }
  }

  const MatrixCall &call;
  const Lapack *lapack;
  Workspace memory;
  const T *first, *second;
  T *result;
};

} // namespace

size_t updraft::runtime::workspaceOf(MatrixFunction function, int64_t rows, int64_t columns) {
  Workspace memory;
  switch (function) {
  case MatrixFunction::QR:
    QRArrays<double>(memory, rows);
    break;
  case MatrixFunction::Eigenvectors:
  case MatrixFunction::Eigenvalues:
    EigenArrays(memory, rows);
    break;
  case MatrixFunction::SortRows:
  case MatrixFunction::SortColumns:
  case MatrixFunction::Largest:
  case MatrixFunction::GatherRows:
  case MatrixFunction::GatherColumns:
  case MatrixFunction::ScatterRows:
  case MatrixFunction::ScatterColumns:
    SortArrays(memory, std::max(rows, columns));
    break;
  case MatrixFunction::Cholesky:
  case MatrixFunction::SolveLower:
  case MatrixFunction::SolveUpper:
  case MatrixFunction::Transpose:
    break;
  }
  return memory.bytes();
}

void updraft::runtime::run(const MatrixCall &call, const Lapack *lapack) {
  if (call.rows == 0 || call.columns == 0)
    return;
  if (call.dtype == UPD_F64)
    Runner<double>(call, lapack).run();
  else
    Runner<float>(call, lapack).run();
}
