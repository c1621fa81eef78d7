//===- ProductCheck.h - The elements of a matrix product, compared ------------------*- C++ -*-===//
// Compares with a chain of std::fma for each element, or with the bounds of bf16 products
// (docs/numerics.md). NaNs equal each other. Operands and result lie beside inaccessible memory.

#ifndef UPDRAFT_UNITTESTS_TARGET_PRODUCTCHECK_H
#define UPDRAFT_UNITTESTS_TARGET_PRODUCTCHECK_H

#include "ProductOperand.h"
#include "updraft-c/kernel.h"
#include "updraft/Conversion/ProductEpilogue.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>

namespace updraft::test {

template <typename Real> bool haveSameBits(Real left, Real right) {
  if (std::isnan(left) || std::isnan(right))
    return std::isnan(left) && std::isnan(right);
  return left == right && std::signbit(left) == std::signbit(right);
}

inline float roundedToBF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000U);
}

/// Multiplies matrices of one size with a compiled function.
template <typename Real> class ProductCheck {
public:
  upd_product_function product = nullptr;
  bool roundsOperands = false; ///< to bf16; `Real` is float
  ProductEpilogue epilogue;
  std::mt19937 random{7};

  void fill(const Sizes &sizes, const std::function<Real()> &next) {
    lhs = {sizes.rows, sizes.depth};
    rhs = {sizes.depth, sizes.columns};
    std::generate(lhs.values.begin(), lhs.values.end(), next);
    std::generate(rhs.values.begin(), rhs.values.end(), next);
    expected = {sizes.rows, sizes.columns};
    bounds = {sizes.rows, sizes.columns};
    addend = {sizes.rows, sizes.columns};
    std::generate(addend.values.begin(), addend.values.end(), next);
    target = {sizes.rows, sizes.columns};
    std::generate(target.values.begin(), target.values.end(), next);
    for (int64_t i = 0; i < sizes.rows; ++i)
      for (int64_t j = 0; j < sizes.columns; ++j) {
        double exact = 0;
        for (int64_t k = 0; k < sizes.depth; ++k) {
          Real left = lhs.at(i, k), right = rhs.at(k, j);
          if (roundsOperands) {
            left = roundedToBF16(left);
            right = roundedToBF16(right);
            // Each addition may be off by a unit of the largest partial sum.
            exact += double(left) * right;
            bounds.at(i, j) += std::abs(left * right) * Real(sizes.depth) * Real(0x1p-23);
            expected.at(i, j) = Real(exact);
          } else {
            expected.at(i, j) = std::fma(left, right, expected.at(i, j));
          }
        }
      }
  }

  /// Numbers whose sums are rounded.
  void fill(const Sizes &sizes) {
    std::uniform_real_distribution<Real> distribution(-1, 1);
    fill(sizes, [&] { return distribution(random); });
  }

  /// Multiplies operands with these layouts. Returns a text about the differences, or an empty one.
  std::string differences(Layout lhsLayout, Layout rhsLayout,
                          int64_t below = std::numeric_limits<int64_t>::max()) {
    const Fence fence = random() % 2 ? Fence::Before : Fence::After;
    const Operand<Real> left(lhs, lhsLayout, fence), right(rhs, rhsLayout, fence);
    const int64_t rows = expected.rows, columns = expected.columns;
    const int64_t row = columns + static_cast<int64_t>(random() % 3);
    const auto used = static_cast<size_t>(std::max<int64_t>(0, (rows - 1) * row + columns));
    FencedMemory<Real> result(used, fence);
    const Real unwritten = 12345;
    std::fill(result.begin(), result.end(), unwritten);
    std::fill_n(workspace.get(), UPD_PRODUCT_WORKSPACE + guardBytes, pattern);
    const Operand<Real> added(addend, Layout::Rows, fence);
    const Real scale = this->scale, addendScale = this->addendScale;
    upd_product_update update{};
    upd_product_sum &arguments = update.sum;
    arguments.product = {
        left.first, left.row, left.column, right.first, right.row, right.column,   result.begin(),
        row,        rows,     columns,     lhs.columns, below,     workspace.get()};
    const bool adds = epilogue.addends != Addends::None && random() % 8 != 0;
    if (adds) {
      arguments.addend = added.first;
      arguments.addend_row = added.row;
      arguments.scale = &scale;
      arguments.addend_scale = &addendScale;
    }
    const bool updates = epilogue.hasTargets && random() % 2 != 0;
    const int64_t targetRow = columns + static_cast<int64_t>(random() % 3);
    FencedMemory<Real> updated(
        static_cast<size_t>(std::max<int64_t>(0, (rows - 1) * targetRow + columns)), fence);
    std::fill(updated.begin(), updated.end(), unwritten);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        updated[static_cast<size_t>(i * targetRow + j)] = target.at(i, j);
    if (updates) {
      update.target = updated.begin();
      update.target_row = targetRow;
      update.sum_scale = &sumScale;
      update.target_scale = &targetScale;
    }
    product(&arguments.product);
    auto withTerm = [&](Real value, Real valueScale, Real element, Real elementScale) {
      const Real scaled = valueScale * value, other = elementScale * element;
      return epilogue.addends == Addends::Fused ? std::fma(elementScale, element, scaled)
                                                : scaled + other;
    };
    auto expectedAt = [&](int64_t i, int64_t j) {
      Real sum = expected.at(i, j);
      if (adds)
        sum = withTerm(sum, scale, addend.at(i, j), addendScale);
      return updates ? withTerm(sum, sumScale, target.at(i, j), targetScale) : sum;
    };
    FencedMemory<Real> &written = updates ? updated : result;
    const int64_t writtenRow = updates ? targetRow : row;
    size_t wrong = 0;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < (i + 1 < rows ? writtenRow : columns); ++j) {
        const Real value = written[static_cast<size_t>(i * writtenRow + j)];
        if (j >= columns)
          wrong += value != unwritten;
        else if (below >= columns || j <= i + below)
          wrong += roundsOperands ? !(std::abs(value - expectedAt(i, j)) <= bounds.at(i, j))
                                  : !haveSameBits(value, expectedAt(i, j));
      }
    const unsigned char *guard = workspace.get() + UPD_PRODUCT_WORKSPACE;
    const auto changed =
        guardBytes - static_cast<size_t>(std::count(guard, guard + guardBytes, pattern));
    if (wrong == 0 && changed == 0)
      return "";
    auto text = [](auto number) { return std::to_string(static_cast<int64_t>(number)); };
    return text(wrong) + " elements of " + text(rows) + " x " + text(columns) + ", depth " +
           text(lhs.columns) + ", layouts " + text(lhsLayout) + " and " + text(rhsLayout) +
           ", below " + text(below) + ", and " + text(changed) + " bytes after the workspace";
  }

private:
  static constexpr size_t guardBytes = 256;
  static constexpr unsigned char pattern = 0xff; // NaNs

  Matrix<Real> lhs{0, 0}, rhs{0, 0}, addend{0, 0}, target{0, 0}, expected{0, 0}, bounds{0, 0};
  // So small scales leave the bounds of bf16 products as they are.
  Real scale = Real(0.7), addendScale = Real(-0.3), sumScale = Real(-0.6), targetScale = Real(0.9);
  std::unique_ptr<unsigned char, decltype(&std::free)> workspace{
      static_cast<unsigned char *>(std::aligned_alloc(64, UPD_PRODUCT_WORKSPACE + guardBytes)),
      &std::free};
};

} // namespace updraft::test

#endif // UPDRAFT_UNITTESTS_TARGET_PRODUCTCHECK_H
