//===- ReductionModel.cpp - The reduction tree in plain C++ -----------------------------------===//

#include "ReductionModel.h"

#include "updraft-c/kernel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace updraft::test {

double combine(Kind kind, double left, double right) {
  if (kind == Kind::sum)
    return left + right;
  if (std::isnan(left) || std::isnan(right))
    return std::numeric_limits<double>::quiet_NaN();
  if (left == right)
    return std::signbit(left) ? right : left;
  return left > right ? left : right;
}

double identityOf(Kind kind) {
  return kind == Kind::sum ? 0.0 : -std::numeric_limits<double>::infinity();
}

int64_t MatrixShape::blocksPerBatch() const { return (rows + UPD_BLOCK_ROWS - 1) / UPD_BLOCK_ROWS; }

namespace {

class Lanes {
public:
  explicit Lanes(Kind kind) : kind(kind), lanes(UPD_LANES, identityOf(kind)) {}

  void add(int64_t position, double value) {
    double &lane = lanes[position % UPD_LANES];
    lane = combine(kind, lane, value);
  }
  double total() {
    for (size_t half = UPD_LANES / 2; half >= 1; half /= 2)
      for (size_t i = 0; i < half; ++i)
        lanes[i] = combine(kind, lanes[i], lanes[i + half]);
    return lanes[0];
  }

private:
  Kind kind;
  std::vector<double> lanes;
};

/// Calls `visit(index of the first element)` for the rows of block `block`.
template <typename Visit> void forRows(MatrixShape shape, int64_t block, Visit visit) {
  int64_t batch = block / shape.blocksPerBatch();
  int64_t first = block % shape.blocksPerBatch() * UPD_BLOCK_ROWS;
  for (int64_t r = first; r < std::min<int64_t>(first + UPD_BLOCK_ROWS, shape.rows); ++r)
    visit((batch * shape.rows + r) * shape.columns);
}

} // namespace

std::vector<double> leafPartials(Kind kind, const std::vector<double> &values) {
  std::vector<double> partials;
  for (size_t leaf = 0; leaf < values.size(); leaf += UPD_LEAF_ELEMENTS) {
    Lanes lanes(kind);
    for (size_t i = leaf; i < std::min<size_t>(leaf + UPD_LEAF_ELEMENTS, values.size()); ++i)
      lanes.add(static_cast<int64_t>(i - leaf), values[i]);
    partials.push_back(lanes.total());
  }
  return partials;
}

std::vector<double> blockPartials(Kind kind, const std::vector<double> &values, MatrixShape shape) {
  std::vector<double> partials;
  for (int64_t block = 0; block < shape.blocks(); ++block) {
    Lanes lanes(kind);
    forRows(shape, block, [&](int64_t start) {
      for (int64_t c = 0; c < shape.columns; ++c)
        lanes.add(c, values[start + c]);
    });
    partials.push_back(lanes.total());
  }
  return partials;
}

std::vector<double> rowTotals(Kind kind, const std::vector<double> &values, MatrixShape shape) {
  std::vector<double> totals;
  for (int64_t row = 0; row < shape.batches * shape.rows; ++row) {
    Lanes lanes(kind);
    for (int64_t c = 0; c < shape.columns; ++c)
      lanes.add(c, values[row * shape.columns + c]);
    totals.push_back(lanes.total());
  }
  return totals;
}

std::vector<double> columnPartials(Kind kind, const std::vector<double> &values,
                                   MatrixShape shape) {
  std::vector<double> partials(shape.blocks() * shape.columns, identityOf(kind));
  for (int64_t block = 0; block < shape.blocks(); ++block)
    forRows(shape, block, [&](int64_t start) {
      for (int64_t c = 0; c < shape.columns; ++c) {
        double &sum = partials[block * shape.columns + c];
        sum = combine(kind, sum, values[start + c]);
      }
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
