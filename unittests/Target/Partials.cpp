//===- Partials.cpp - The expected partial results of a sweep ---------------------------------===//

#include "Partials.h"

#include "updraft-c/kernel.h"
#include "updraft/Reference/Reduction.h"

#include <algorithm>
#include <bit>
#include <cmath>

using namespace updraft::reference;

namespace updraft::test {
namespace {

/// Calls `visit(first element, rows)` for each block.
template <typename Visit> void forBlocks(MatrixShape shape, Visit visit) {
  for (int64_t batch = 0; batch < shape.batches; ++batch)
    for (int64_t row = 0; row < shape.rows; row += UPD_BLOCK_ROWS)
      visit((batch * shape.rows + row) * shape.columns,
            std::min<int64_t>(UPD_BLOCK_ROWS, shape.rows - row));
}

} // namespace

int64_t MatrixShape::blocksPerBatch() const { return (rows + UPD_BLOCK_ROWS - 1) / UPD_BLOCK_ROWS; }

std::vector<double> leafPartials(ReductionKind kind, const std::vector<double> &values) {
  std::vector<double> partials;
  const auto count = static_cast<int64_t>(values.size());
  for (int64_t leaf = 0; leaf < count; leaf += UPD_LEAF_ELEMENTS)
    partials.push_back(reduceFlat(kind, std::min<int64_t>(UPD_LEAF_ELEMENTS, count - leaf),
                                  [&](int64_t i) { return values[leaf + i]; }));
  return partials;
}

std::vector<double> blockPartials(ReductionKind kind, const std::vector<double> &values,
                                  MatrixShape shape) {
  std::vector<double> partials;
  forBlocks(shape, [&](int64_t first, int64_t rows) {
    partials.push_back(
        reduceBlocks(kind, {1, rows, shape.columns}, [&](int64_t i) { return values[first + i]; }));
  });
  return partials;
}

std::vector<double> rowTotals(ReductionKind kind, const std::vector<double> &values,
                              MatrixShape shape) {
  std::vector<double> totals;
  for (int64_t row = 0; row < shape.batches * shape.rows; ++row)
    totals.push_back(
        reduceRow(kind, shape.columns, [&](int64_t c) { return values[row * shape.columns + c]; }));
  return totals;
}

std::vector<double> columnPartials(ReductionKind kind, const std::vector<double> &values,
                                   MatrixShape shape) {
  std::vector<double> partials;
  forBlocks(shape, [&](int64_t first, int64_t rows) {
    for (int64_t column = 0; column < shape.columns; ++column)
      partials.push_back(reduceColumn(
          kind, rows, [&](int64_t r) { return values[first + r * shape.columns + column]; }));
  });
  return partials;
}

uint64_t bitsOf(double value) {
  return std::isnan(value) ? ~uint64_t(0) : std::bit_cast<uint64_t>(value);
}

std::vector<uint64_t> bitsOf(const std::vector<double> &values) {
  std::vector<uint64_t> bits;
  for (double value : values)
    bits.push_back(bitsOf(value));
  return bits;
}

} // namespace updraft::test
