//===- ProductTest.cpp - The bits of a matrix product, for each layout of its operands --------===//
// Compares with a chain of std::fma for each element. NaNs equal each other. Operands and result
// lie beside inaccessible memory.

#include "JitProduct.h"
#include "ProductOperand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

using namespace updraft;
using namespace updraft::test;

namespace {

template <typename Real> bool haveSameBits(Real left, Real right) {
  if (std::isnan(left) || std::isnan(right))
    return std::isnan(left) && std::isnan(right);
  return left == right && std::signbit(left) == std::signbit(right);
}

float roundedToBF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000U);
}

template <typename Real> class Products {
public:
  explicit Products(const ProductShape &shape, bool smallBlocks = false, bool isBF16 = false)
      : code(shape, std::is_same_v<Real, double>, smallBlocks), isBF16(isBF16),
        roundsOperands(isBF16 && shape.loops.multipliesBF16) {}

  const ProductTiles &tiles() const { return code.tiles; }

  void fill(const Sizes &sizes, const std::function<Real()> &next) {
    lhs = {sizes.rows, sizes.depth};
    rhs = {sizes.depth, sizes.columns};
    std::generate(lhs.values.begin(), lhs.values.end(), next);
    std::generate(rhs.values.begin(), rhs.values.end(), next);
    expected = {sizes.rows, sizes.columns};
    bounds = {sizes.rows, sizes.columns};
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

  void check(Layout lhsLayout, Layout rhsLayout,
             int64_t below = std::numeric_limits<int64_t>::max()) {
    if (!code.product)
      return;
    const Fence fence = random() % 2 ? Fence::Before : Fence::After;
    const Operand<Real> left(lhs, lhsLayout, fence), right(rhs, rhsLayout, fence);
    const int64_t rows = expected.rows, columns = expected.columns;
    const int64_t row = columns + static_cast<int64_t>(random() % 3);
    const auto used = static_cast<size_t>(std::max<int64_t>(0, (rows - 1) * row + columns));
    FencedMemory<Real> result(used, fence);
    const Real unwritten = 12345;
    std::fill(result.begin(), result.end(), unwritten);
    std::fill_n(workspace.get(), UPD_PRODUCT_WORKSPACE + guardBytes, pattern);
    const upd_product product{
        left.first, left.row, left.column, right.first, right.row, right.column,   result.begin(),
        row,        rows,     columns,     lhs.columns, below,     workspace.get()};
    (isBF16 ? code.bf16 : code.product)(&product);
    size_t wrong = 0;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < (i + 1 < rows ? row : columns); ++j) {
        const Real value = result[static_cast<size_t>(i * row + j)];
        if (j >= columns)
          wrong += value != unwritten;
        else if (below >= columns || j <= i + below)
          wrong += roundsOperands ? !(std::abs(value - expected.at(i, j)) <= bounds.at(i, j))
                                  : !haveSameBits(value, expected.at(i, j));
      }
    EXPECT_EQ(wrong, 0u) << rows << " x " << columns << ", depth " << lhs.columns << ", layouts "
                         << static_cast<int>(lhsLayout) << " and " << static_cast<int>(rhsLayout)
                         << ", below " << below;
    const unsigned char *guard = workspace.get() + UPD_PRODUCT_WORKSPACE;
    EXPECT_TRUE(std::all_of(guard, guard + guardBytes, [](auto byte) { return byte == pattern; }));
  }

  std::mt19937 random{7};

private:
  static constexpr size_t guardBytes = 256;
  static constexpr unsigned char pattern = 0xff; // NaNs

  JitProduct code;
  bool isBF16, roundsOperands;
  Matrix<Real> lhs{0, 0}, rhs{0, 0}, expected{0, 0}, bounds{0, 0};
  std::unique_ptr<unsigned char, decltype(&std::free)> workspace{
      static_cast<unsigned char *>(std::aligned_alloc(64, UPD_PRODUCT_WORKSPACE + guardBytes)),
      &std::free};
};

class ProductTest : public testing::TestWithParam<ProductShape> {
protected:
  template <typename Test> void forBothTypes(Test test) {
    test(float());
    test(double());
  }
  /// Without instructions for fused multiply-adds, elements take long.
  bool isSlow() const { return GetParam().cpu.name == "x86-64-v2"; }
};

TEST_P(ProductTest, SizesAroundTiles) {
  forBothTypes([&](auto real) {
    Products<decltype(real)> products(GetParam());
    const int64_t rows = products.tiles().rows, columns = products.tiles().columns;
    size_t next = 0;
    for (int64_t m : {int64_t(1), rows - 1, rows, rows + 1, 2 * rows + 3})
      for (int64_t n : {int64_t(1), columns - 1, columns, columns + 1, 2 * columns + 5})
        for (int64_t depth : {0, 1, 2, 3, 4, 5, 7, 16, 17, 37}) {
          products.fill({m, n, depth});
          const size_t layouts = next++;
          products.check(allLayouts[layouts % 6], allLayouts[layouts / 6 % 6]);
          products.check(Layout::Rows, Layout::Rows);
        }
  });
}

TEST_P(ProductTest, BF16SizesAndLayouts) {
  for (const bool smallBlocks : {false, true}) {
    Products<float> products(GetParam(), smallBlocks, /*isBF16=*/true);
    const ProductTiles &tiles = products.tiles();
    const int64_t rows = tiles.rows, columns = tiles.columns;
    size_t next = 0;
    for (int64_t m : {int64_t(1), rows, 2 * rows + 3})
      for (int64_t n : {int64_t(1), columns - 1, columns, 2 * columns + 5})
        for (int64_t depth : {0, 1, 2, 3, 5, 16, 17, 41}) {
          products.fill({m, n, depth});
          const size_t layouts = next++;
          products.check(allLayouts[layouts % 6], allLayouts[layouts / 6 % 6]);
          products.check(Layout::Rows, Layout::Columns, /*below=*/2);
        }
  }
}

TEST_P(ProductTest, Layouts) {
  forBothTypes([&](auto real) {
    Products<decltype(real)> products(GetParam());
    products.fill({2 * products.tiles().rows + 1, 2 * products.tiles().columns + 3, 41});
    for (Layout lhs : allLayouts)
      for (Layout rhs : allLayouts)
        products.check(lhs, rhs);
  });
}

TEST_P(ProductTest, SizesAroundSmallBlocks) {
  forBothTypes([&](auto real) {
    Products<decltype(real)> products(GetParam(), /*smallBlocks=*/true);
    const ProductTiles &tiles = products.tiles();
    for (int64_t m : {tiles.rowBlock - 1, 2 * tiles.rowBlock, 3 * tiles.rowBlock + 1})
      for (int64_t n : {tiles.colBlock - 1, 2 * tiles.colBlock, 3 * tiles.colBlock + 1})
        for (int64_t depth :
             {tiles.depthBlock - 1, tiles.depthBlock, 2 * tiles.depthBlock + 1, int64_t(33)}) {
          products.fill({m, n, depth});
          products.check(Layout::Rows, Layout::Columns);
          products.check(Layout::Columns, Layout::Rows);
        }
  });
}

TEST_P(ProductTest, SizesAroundBlocks) {
  if (isSlow())
    GTEST_SKIP() << "too slow without fused multiply-adds";
  forBothTypes([&](auto real) {
    Products<decltype(real)> products(GetParam());
    const ProductTiles &tiles = products.tiles();
    for (int64_t step : {-1, 0, 1}) {
      products.fill({17, 35, tiles.depthBlock + step});
      products.check(Layout::Columns, Layout::Columns);
      products.check(Layout::Rows, Layout::Rows);
    }
    products.fill({9, 35, 2 * tiles.depthBlock + 2});
    products.check(Layout::Rows, Layout::Columns);
    products.fill({tiles.rowBlock + 1, 7, 20});
    products.check(Layout::Rows, Layout::Rows);
    products.fill({5, tiles.colBlock + 1, 20});
    products.check(Layout::Rows, Layout::Columns);
    // Fills the workspace.
    products.fill({tiles.rowBlock, tiles.colBlock, 2});
    products.check(Layout::Columns, Layout::Columns);
  });
}

TEST_P(ProductTest, WholeWorkspace) {
  if (isSlow())
    GTEST_SKIP() << "too slow without fused multiply-adds";
  forBothTypes([&](auto real) {
    Products<decltype(real)> products(GetParam());
    const ProductTiles &tiles = products.tiles();
    products.fill({3, tiles.colBlock, tiles.depthBlock});
    products.check(Layout::Rows, Layout::Rows);
    products.check(Layout::Rows, Layout::Columns);
  });
}

TEST_P(ProductTest, SpecialValues) {
  forBothTypes([&](auto real) {
    using Real = decltype(real);
    using Limits = std::numeric_limits<Real>;
    Products<Real> products(GetParam());
    const Real values[] = {0,
                           -Real(0),
                           1,
                           -1,
                           Limits::denorm_min(),
                           -Limits::denorm_min(),
                           Limits::min(),
                           Real(1) / 3,
                           -std::sqrt(Limits::min()),
                           Limits::max(),
                           Limits::infinity(),
                           Limits::quiet_NaN()};
    // Sums of the first `count` values; with many NaNs and infinities, each element is a NaN.
    for (size_t count : {2, 6, 9, 10, 12})
      for (int64_t depth : {1, 2, 3, 5, 9}) {
        products.fill({19, 37, depth}, [&] { return values[products.random() % count]; });
        products.check(Layout::Rows, Layout::Rows);
        products.check(Layout::Columns, Layout::Columns);
      }
    // Few NaNs and infinities.
    products.fill({19, 37, 21}, [&] {
      const size_t choice = products.random() % 200;
      return choice < std::size(values) ? values[choice] : Real(choice) / 64;
    });
    products.check(Layout::Rows, Layout::Columns);
    // A product that underflows to -0 keeps its sign at every depth.
    products.fill({13, 33, 6}, [&, sign = Real(1)]() mutable {
      sign = -sign;
      return products.random() % 2 ? sign * Limits::denorm_min() : Real(0);
    });
    products.check(Layout::Rows, Layout::Rows);
  });
}

TEST_P(ProductTest, Below) {
  forBothTypes([&](auto real) {
    using Limits = std::numeric_limits<int64_t>;
    for (bool smallBlocks : {false, true}) {
      Products<decltype(real)> products(GetParam(), smallBlocks);
      for (Sizes sizes : {Sizes{70, 70, 19}, Sizes{40, 150, 5}, Sizes{150, 40, 5}}) {
        products.fill(sizes);
        for (int64_t below : {int64_t(0), int64_t(-1), int64_t(3), int64_t(-30), int64_t(37),
                              int64_t(-1000), int64_t(1000), Limits::max(), Limits::min()})
          products.check(Layout::Rows, Layout::Columns, below);
      }
    }
  });
}

TEST_P(ProductTest, EmptyMatrices) {
  forBothTypes([&](auto real) {
    Products<decltype(real)> products(GetParam());
    for (Sizes sizes : {Sizes{0, 0, 0}, Sizes{0, 5, 3}, Sizes{5, 0, 3}, Sizes{0, 0, 9},
                        Sizes{70, 70, 0}, Sizes{5, 0, 0}}) {
      products.fill(sizes);
      products.check(Layout::Rows, Layout::Rows);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, ProductTest, testing::ValuesIn(productShapes()),
                         [](const auto &info) { return info.param.name; });

} // namespace
