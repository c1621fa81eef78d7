//===- Reduction.cpp - The order of operations in reductions ----------------------------------===//

#include "updraft/Reference/Reduction.h"

#include "Arithmetic.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

using namespace updraft;
using namespace updraft::reference;

namespace {

constexpr int64_t leafElements = 8192;
constexpr int64_t blockRows = 64;
constexpr int64_t laneCount = 128;

double identity(ReductionKind kind) {
  return kind == ReductionKind::sum ? 0.0 : -std::numeric_limits<double>::infinity();
}

double combine(ReductionKind kind, double a, double b) {
  return kind == ReductionKind::sum ? a + b : maximum(a, b);
}

/// Accumulators for values that are dealt to lanes. Halving adds lane i + 64 to lane i, then i +
/// 32, …
class Lanes {
public:
  explicit Lanes(ReductionKind kind) : kind(kind) { lanes.fill(identity(kind)); }

  void add(int64_t index, double value) {
    double &lane = lanes[index % laneCount];
    lane = combine(kind, lane, value);
  }

  double result() {
    for (int64_t half = laneCount / 2; half >= 1; half /= 2)
      for (int64_t i = 0; i < half; ++i)
        lanes[i] = combine(kind, lanes[i], lanes[i + half]);
    return lanes[0];
  }

private:
  ReductionKind kind;
  std::array<double, laneCount> lanes;
};

} // namespace

Shape Shape::of(llvm::ArrayRef<int64_t> dimensions) {
  if (dimensions.empty())
    return vector(1);
  if (dimensions.size() == 1)
    return vector(dimensions[0]);
  Shape shape{1, dimensions[dimensions.size() - 2], dimensions.back()};
  for (int64_t batch : dimensions.drop_back(2))
    shape.batches *= batch;
  return shape;
}

int64_t Shape::places(Extent over) const {
  if (isMatrixExtent(over))
    return of(over).count();
  switch (over) {
  case Extent::batch:
    return batches;
  case Extent::row:
    return batches * rows;
  case Extent::column:
    return batches * columns;
  default:
    return 1;
  }
}

Shape Shape::of(Extent matrices) const {
  switch (matrices) {
  case Extent::rows_by_rows:
    return {batches, rows, rows};
  case Extent::columns_by_columns:
    return {batches, columns, columns};
  case Extent::transposed:
    return {batches, columns, rows};
  case Extent::chosen_by_columns:
    return {batches, chosen, columns};
  case Extent::chosen_by_rows:
    return {batches, chosen, rows};
  case Extent::rows_by_chosen:
    return {batches, rows, chosen};
  case Extent::columns_by_chosen:
    return {batches, columns, chosen};
  case Extent::chosen_by_chosen:
    return {batches, chosen, chosen};
  default:
    return *this;
  }
}

double updraft::reference::reducePairwise(ReductionKind kind, llvm::ArrayRef<double> values) {
  if (values.empty())
    return identity(kind);
  std::vector<double> level = values.vec();
  while (level.size() > 1) {
    std::vector<double> next;
    for (size_t i = 0; i < level.size(); i += 2)
      next.push_back(i + 1 < level.size() ? combine(kind, level[i], level[i + 1]) : level[i]);
    level = std::move(next);
  }
  return level[0];
}

double updraft::reference::reduceFlat(ReductionKind kind, int64_t count, ValueAt value) {
  std::vector<double> leaves;
  for (int64_t begin = 0; begin < count; begin += leafElements) {
    Lanes lanes(kind);
    for (int64_t i = begin; i < std::min(begin + leafElements, count); ++i)
      lanes.add(i, value(i));
    leaves.push_back(lanes.result());
  }
  return reducePairwise(kind, leaves);
}

double updraft::reference::reduceBlocks(ReductionKind kind, const Shape &shape, ValueAt element) {
  std::vector<double> blocks;
  for (int64_t batch = 0; batch < shape.batches; ++batch)
    for (int64_t begin = 0; begin < shape.rows; begin += blockRows) {
      Lanes lanes(kind);
      for (int64_t row = begin; row < std::min(begin + blockRows, shape.rows); ++row)
        for (int64_t column = 0; column < shape.columns; ++column)
          lanes.add(column, element((batch * shape.rows + row) * shape.columns + column));
      blocks.push_back(lanes.result());
    }
  return reducePairwise(kind, blocks);
}

double updraft::reference::reduceRow(ReductionKind kind, int64_t columns, ValueAt column) {
  Lanes lanes(kind);
  for (int64_t i = 0; i < columns; ++i)
    lanes.add(i, column(i));
  return lanes.result();
}

double updraft::reference::reduceColumn(ReductionKind kind, int64_t rows, ValueAt row) {
  std::vector<double> blocks;
  for (int64_t begin = 0; begin < rows; begin += blockRows) {
    double block = identity(kind);
    for (int64_t i = begin; i < std::min(begin + blockRows, rows); ++i)
      block = combine(kind, block, row(i));
    blocks.push_back(block);
  }
  return reducePairwise(kind, blocks);
}
