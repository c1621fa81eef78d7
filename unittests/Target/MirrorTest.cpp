//===- MirrorTest.cpp - The copy of a matrix's lower triangle to the upper --------------------===//

#include "FencedMemory.h"
#include "JitProduct.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

using namespace updraft;
using namespace updraft::test;

namespace {

class MirrorTest : public testing::TestWithParam<ProductShape> {};

/// Mirrors rows [begin, end) of a matrix in which all bits are different, and checks every element.
template <typename Real>
void check(upd_mirror_function mirror, int64_t size, int64_t row, int64_t begin, int64_t end) {
  const auto used = static_cast<size_t>(size == 0 ? 0 : (size - 1) * row + size);
  FencedMemory<Real> matrix(used);
  for (size_t i = 0; i < used; ++i)
    matrix[i] = static_cast<Real>(i) - Real(1000.5);
  std::vector<Real> expected(matrix.begin(), matrix.end());
  for (int64_t i = begin; i < end; ++i)
    for (int64_t j = 0; j < i; ++j)
      expected[static_cast<size_t>(j * row + i)] = expected[static_cast<size_t>(i * row + j)];
  mirror(matrix.begin(), row, begin, end);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), matrix.begin()))
      << size << " x " << size << ", rows " << begin << " to " << end;
}

template <typename Real> void checkSizes(const ProductShape &shape) {
  const JitProduct code(shape, std::is_same_v<Real, double>);
  ASSERT_NE(code.mirror, nullptr);
  code.mirror(nullptr, 0, 0, 0);
  for (int64_t size = 0; size < 70; ++size)
    check<Real>(code.mirror, size, size + size % 3, 0, size);
  for (int64_t begin : {0, 1, 15, 16, 17, 32})
    for (int64_t end : {0, 16, 31, 32, 33, 48, 50})
      check<Real>(code.mirror, 50, 53, begin, end);
}

TEST_P(MirrorTest, Sizes) {
  checkSizes<float>(GetParam());
  checkSizes<double>(GetParam());
}

// Values are copied as bits, so that NaNs keep theirs.
TEST_P(MirrorTest, NaNs) {
  const JitProduct code(GetParam(), /*isDouble=*/false);
  ASSERT_NE(code.mirror, nullptr);
  constexpr uint32_t size = 40;
  std::vector<uint32_t> bits(size * size);
  for (uint32_t i = 0; i < size * size; ++i)
    bits[i] = 0x7f800001u + i;
  std::vector<float> matrix(bits.size());
  std::memcpy(matrix.data(), bits.data(), bits.size() * sizeof(float));
  code.mirror(matrix.data(), size, 0, size);
  std::memcpy(bits.data(), matrix.data(), bits.size() * sizeof(float));
  for (uint32_t i = 0; i < size; ++i)
    for (uint32_t j = 0; j < size; ++j)
      EXPECT_EQ(bits[i * size + j], 0x7f800001u + std::max(i, j) * size + std::min(i, j));
}

INSTANTIATE_TEST_SUITE_P(Shapes, MirrorTest, testing::ValuesIn(productShapes()),
                         [](const auto &info) { return info.param.name; });

} // namespace
