//===- ProductTest.cpp - The bits of a matrix product, for each layout of its operands --------===//

#include "JitProduct.h"
#include "ProductCheck.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace updraft;
using namespace updraft::test;

namespace {

template <typename Real> class Products : public ProductCheck<Real> {
public:
  explicit Products(const ProductShape &shape, bool smallBlocks = false, bool isBF16 = false,
                    ProductEpilogue epilogue = {})
      : code(shape, std::is_same_v<Real, double>, smallBlocks, epilogue) {
    this->epilogue = epilogue;
    this->product = isBF16 ? code.bf16 : code.product;
    this->roundsOperands = isBF16 && shape.loops.dot != DotInstruction::None;
  }

  const ProductTiles &tiles() const { return code.tiles; }

  void check(Layout lhsLayout, Layout rhsLayout,
             int64_t below = std::numeric_limits<int64_t>::max()) {
    // Without functions, their compilation has failed the test.
    if (this->product)
      EXPECT_EQ(this->differences(lhsLayout, rhsLayout, below), "");
  }

private:
  JitProduct code;
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

// Whole and partial tiles, in one and several blocks of the depth.
TEST_P(ProductTest, SumsOfSizesAroundTiles) {
  forBothTypes([&](auto real) {
    for (const Addends addends : {Addends::Rounded, Addends::Fused})
      for (const int kind : {0, 1, 2, 3}) {
        const bool smallBlocks = kind % 2 != 0, hasTargets = kind / 2 != 0;
        Products<decltype(real)> products(GetParam(), smallBlocks, /*isBF16=*/false,
                                          {addends, hasTargets});
        const int64_t rows = products.tiles().rows, columns = products.tiles().columns;
        for (int64_t m : {int64_t(1), rows - 1, rows, 2 * rows + 3})
          for (int64_t n : {int64_t(1), columns - 1, columns, 2 * columns + 5})
            for (int64_t depth : {0, 1, 4, 5, 17}) {
              products.fill({m, n, depth});
              products.check(Layout::Rows, Layout::Columns);
              products.check(Layout::Rows, Layout::Rows, /*below=*/2);
            }
      }
  });
}

TEST_P(ProductTest, BF16Sums) {
  for (const bool smallBlocks : {false, true}) {
    Products<float> products(GetParam(), smallBlocks, /*isBF16=*/true,
                             {Addends::Fused, /*hasTargets=*/true});
    const int64_t rows = products.tiles().rows, columns = products.tiles().columns;
    for (Sizes sizes : {Sizes{rows, columns, 17}, Sizes{2 * rows + 3, 2 * columns + 5, 5}}) {
      products.fill(sizes);
      for (int i = 0; i < 4; ++i)
        products.check(Layout::Rows, Layout::Rows);
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
