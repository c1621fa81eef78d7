//===- MatrixCallTests.cpp - Functions of whole matrices against their definitions ------------===//

#include "runtime/matrix/MatrixCall.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace updraft::runtime;

namespace {

const Lapack *lapack() {
  const Lapack *found = nullptr;
  const Status status = Lapack::load(found);
  EXPECT_TRUE(status.ok()) << status.message();
  return found;
}

/// A matrix by rows.
template <typename T> struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<T> values = std::vector<T>(static_cast<size_t>(rows * columns));

  T &operator()(int64_t i, int64_t j) { return values[static_cast<size_t>(i * columns + j)]; }
  T operator()(int64_t i, int64_t j) const { return values[static_cast<size_t>(i * columns + j)]; }

  static Matrix random(int64_t rows, int64_t columns, unsigned seed) {
    Matrix result{rows, columns};
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    for (T &value : result.values)
      value = static_cast<T>(normal(engine));
    return result;
  }
};

template <typename T> Matrix<T> transposed(const Matrix<T> &a) {
  Matrix<T> result{a.columns, a.rows};
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.columns; ++j)
      result(j, i) = a(i, j);
  return result;
}

template <typename T> Matrix<T> product(const Matrix<T> &a, const Matrix<T> &b) {
  Matrix<T> result{a.rows, b.columns};
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < b.columns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < a.columns; ++k)
        sum += static_cast<double>(a(i, k)) * static_cast<double>(b(k, j));
      result(i, j) = static_cast<T>(sum);
    }
  return result;
}

template <typename T> double distance(const Matrix<T> &a, const Matrix<T> &b) {
  double largest = 0;
  for (size_t i = 0; i < a.values.size(); ++i)
    largest = std::max(largest, std::fabs(static_cast<double>(a.values[i] - b.values[i])));
  return largest;
}

template <typename T> Matrix<T> identity(int64_t n) {
  Matrix<T> result{n, n};
  for (int64_t i = 0; i < n; ++i)
    result(i, i) = 1;
  return result;
}

/// Runs a function whose result has `rows` x `columns` elements.
template <typename T>
Matrix<T> call(MatrixFunction function, const Matrix<T> &first, const Matrix<T> &second,
               int64_t rows, int64_t columns, int64_t chosen = 0) {
  Matrix<T> result{rows, columns};
  const int by = shapedBy(function);
  const Matrix<T> &shaped = by < 0 ? result : by == 1 ? second : first;
  std::vector<std::max_align_t> workspace(
      (workspaceOf(function, shaped.rows, shaped.columns) + 64) / sizeof(std::max_align_t) + 1);
  void *aligned = workspace.data();
  size_t space = workspace.size() * sizeof(std::max_align_t);
  std::align(64, 1, aligned, space);
  run({function,
       sizeof(T) == 4 ? UPD_F32 : UPD_F64,
       shaped.rows,
       shaped.columns,
       chosen,
       {first.values.data(), second.values.data()},
       result.values.data(),
       aligned},
      needsLapack(function) ? lapack() : nullptr);
  return result;
}

template <typename T> Matrix<T> call(MatrixFunction function, const Matrix<T> &a) {
  return call(function, a, Matrix<T>(), a.rows,
              function == MatrixFunction::Eigenvalues ? 1 : a.columns);
}

template <typename T> bool isAllNaN(const Matrix<T> &a) {
  return std::all_of(a.values.begin(), a.values.end(), [](T value) { return std::isnan(value); });
}

template <typename T> class MatrixCalls : public testing::Test {
protected:
  /// The error of a factorization of an n x n matrix with elements near 1.
  static double bound(int64_t n) {
    return 20 * static_cast<double>(n) * static_cast<double>(std::numeric_limits<T>::epsilon());
  }
};

using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(MatrixCalls, Elements);

constexpr int64_t sizes[] = {0, 1, 2, 3, 17, 64, 100};

TYPED_TEST(MatrixCalls, QRHasAnOrthogonalFactorAndAnUpperOne) {
  using M = Matrix<TypeParam>;
  for (const int64_t n : sizes) {
    SCOPED_TRACE(n);
    const M a = M::random(n, n, 1), q = call(MatrixFunction::QR, a);
    EXPECT_LE(distance(product(transposed(q), q), identity<TypeParam>(n)), this->bound(n));
    const M r = product(transposed(q), a);
    EXPECT_LE(distance(product(q, r), a), this->bound(n));
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_GE(r(i, i), 0);
      for (int64_t j = 0; j < i; ++j)
        EXPECT_LE(std::fabs(r(i, j)), this->bound(n)) << i << ", " << j;
    }
  }
}

TYPED_TEST(MatrixCalls, QRIsOrthogonalForRanksBelowFull) {
  using M = Matrix<TypeParam>;
  for (const M &a : {product(M::random(20, 3, 2), M::random(3, 20, 3)), M{20, 20}}) {
    const M q = call(MatrixFunction::QR, a);
    EXPECT_LE(distance(product(transposed(q), q), identity<TypeParam>(20)), this->bound(20));
  }
}

TYPED_TEST(MatrixCalls, CholeskyReadsTheLowerTriangle) {
  using M = Matrix<TypeParam>;
  for (const int64_t n : sizes) {
    SCOPED_TRACE(n);
    const M x = M::random(n, n, 4);
    M a = product(x, transposed(x));
    for (int64_t i = 0; i < n; ++i)
      a(i, i) += static_cast<TypeParam>(n);
    M lower = a;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = i + 1; j < n; ++j)
        lower(i, j) = std::numeric_limits<TypeParam>::quiet_NaN();
    const M l = call(MatrixFunction::Cholesky, lower);
    EXPECT_LE(distance(product(l, transposed(l)), a), 10 * this->bound(n) * double(n + 1));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = i + 1; j < n; ++j)
        EXPECT_EQ(l(i, j), 0);
  }
}

TYPED_TEST(MatrixCalls, CholeskyOfAnIndefiniteMatrixIsNaN) {
  Matrix<TypeParam> a = identity<TypeParam>(3);
  a(1, 1) = -1;
  EXPECT_TRUE(isAllNaN(call(MatrixFunction::Cholesky, a)));
}

TYPED_TEST(MatrixCalls, EigenvectorsAreOrderedAndSigned) {
  using M = Matrix<TypeParam>;
  for (const int64_t n : sizes) {
    SCOPED_TRACE(n);
    M a = M::random(n, n, 5);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < i; ++j)
        a(j, i) = a(i, j);
    const M vectors = call(MatrixFunction::Eigenvectors, a);
    const M values = call(MatrixFunction::Eigenvalues, a);
    EXPECT_LE(distance(product(transposed(vectors), vectors), identity<TypeParam>(n)),
              this->bound(n));
    M scaled = vectors;
    for (int64_t j = 0; j < n; ++j) {
      if (j != 0)
        EXPECT_LE(values(j - 1, 0), values(j, 0));
      int64_t largest = 0;
      for (int64_t i = 0; i < n; ++i) {
        if (std::fabs(vectors(i, j)) > std::fabs(vectors(largest, j)))
          largest = i;
        scaled(i, j) *= values(j, 0);
      }
      EXPECT_GT(vectors(largest, j), 0);
    }
    EXPECT_LE(distance(product(a, vectors), scaled), this->bound(n) * std::sqrt(double(n + 1)));
    // The upper triangle isn't read.
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = i + 1; j < n; ++j)
        a(i, j) = std::numeric_limits<TypeParam>::quiet_NaN();
    EXPECT_EQ(call(MatrixFunction::Eigenvectors, a).values, vectors.values);
    EXPECT_EQ(call(MatrixFunction::Eigenvalues, a).values, values.values);
  }
}

TYPED_TEST(MatrixCalls, SolversReadOneTriangle) {
  using M = Matrix<TypeParam>;
  for (const auto [n, m] : {std::pair<int64_t, int64_t>{0, 0}, {1, 1}, {5, 3}, {3, 5}, {64, 64}}) {
    SCOPED_TRACE(n);
    M lower{n, n};
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j)
        lower(i, j) = i == j ? TypeParam(2) : TypeParam(0.5) / TypeParam(n);
    const M b = M::random(n, m, 6), upper = transposed(lower);
    M noisyLower = lower, noisyUpper = upper;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < i; ++j)
        noisyLower(j, i) = noisyUpper(i, j) = std::numeric_limits<TypeParam>::infinity();
    const M x = call(MatrixFunction::SolveLower, noisyLower, b, n, m);
    EXPECT_LE(distance(product(lower, x), b), this->bound(n));
    const M y = call(MatrixFunction::SolveUpper, noisyUpper, b, n, m);
    EXPECT_LE(distance(product(upper, y), b), this->bound(n));
  }
}

TYPED_TEST(MatrixCalls, FactorizationsOfValuesThatAreNotFiniteAreNaN) {
  using M = Matrix<TypeParam>;
  for (const TypeParam value :
       {std::numeric_limits<TypeParam>::quiet_NaN(), std::numeric_limits<TypeParam>::infinity()}) {
    M a = identity<TypeParam>(4);
    a(2, 1) = value;
    for (const MatrixFunction function :
         {MatrixFunction::QR, MatrixFunction::Cholesky, MatrixFunction::Eigenvectors,
          MatrixFunction::Eigenvalues})
      EXPECT_TRUE(isAllNaN(call(function, a))) << nameOf(function);
    const M b = M::random(4, 4, 7);
    EXPECT_TRUE(isAllNaN(call(MatrixFunction::SolveLower, a, b, 4, 4)));
    EXPECT_TRUE(isAllNaN(call(MatrixFunction::SolveUpper, b, a, 4, 4)));
  }
}

TYPED_TEST(MatrixCalls, SortsAreStableAndDescending) {
  using M = Matrix<TypeParam>;
  const auto nan = std::numeric_limits<TypeParam>::quiet_NaN();
  M a{2, 5};
  for (size_t i = 0; i < a.values.size(); ++i)
    a.values[i] = static_cast<TypeParam>(i);
  M keys{5, 1};
  keys.values = {1, nan, 3, 1, -std::numeric_limits<TypeParam>::infinity()};
  EXPECT_EQ(call(MatrixFunction::SortColumns, a, keys, 2, 5).values,
            (std::vector<TypeParam>{2, 0, 3, 4, 1, 7, 5, 8, 9, 6}));
  EXPECT_EQ(call(MatrixFunction::SortRows, transposed(a), keys, 5, 2).values,
            (std::vector<TypeParam>{2, 7, 0, 5, 3, 8, 4, 9, 1, 6}));
}

TYPED_TEST(MatrixCalls, ChoosesTheLargestOfTheEarlier) {
  using M = Matrix<TypeParam>;
  const auto nan = std::numeric_limits<TypeParam>::quiet_NaN();
  M keys{6, 1};
  keys.values = {1, nan, 3, 1, -std::numeric_limits<TypeParam>::infinity(), 1};
  const std::vector<TypeParam> places[] = {
      {0, 0, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 0}, {1, 0, 1, 0, 0, 0}, {1, 0, 1, 1, 0, 0},
      {1, 0, 1, 1, 0, 1}, {1, 0, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}};
  for (int64_t chosen = 0; chosen <= 6; ++chosen)
    EXPECT_EQ(call(MatrixFunction::Largest, keys, M(), 6, 1, chosen).values,
              places[static_cast<size_t>(chosen)])
        << chosen;
}

TYPED_TEST(MatrixCalls, ScattersWhatItGathers) {
  using M = Matrix<TypeParam>;
  const M a = M::random(6, 5, 9);
  M keys{6, 1};
  keys.values = {0, 1, 1, 0, 0, 1};
  const M rows = call(MatrixFunction::GatherRows, a, keys, 3, 5, 3);
  const M back = call(MatrixFunction::ScatterRows, rows, keys, 6, 5, 3);
  const int64_t places[] = {1, 2, 5};
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 5; ++j)
      EXPECT_EQ(rows(i, j), a(places[i], j));
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 5; ++j)
      EXPECT_EQ(back(i, j), keys(i, 0) * a(i, j));
  const M t = transposed(a);
  const M columns = call(MatrixFunction::GatherColumns, t, keys, 5, 3, 3);
  EXPECT_EQ(columns.values, transposed(rows).values);
  EXPECT_EQ(call(MatrixFunction::ScatterColumns, columns, keys, 5, 6, 3).values,
            transposed(back).values);
}

TYPED_TEST(MatrixCalls, TransposesAreExact) {
  using M = Matrix<TypeParam>;
  for (const auto [n, m] : {std::pair<int64_t, int64_t>{1, 1}, {1, 40}, {33, 17}, {64, 64}}) {
    const M a = M::random(n, m, 8);
    EXPECT_EQ(call(MatrixFunction::Transpose, a, M(), m, n).values, transposed(a).values);
  }
}

} // namespace
