//===- PlanTemporaries.cpp - Memory for values of rows, columns, batches ----------------------===//

#include "runtime/cpu/PlanTemporaries.h"

#include "runtime/base/Alignment.h"
#include "runtime/base/DType.h"
#include "runtime/base/PoolParts.h"
#include "runtime/cpu/ReductionTree.h"

#include <algorithm>
#include <new>

using namespace updraft::runtime;

PlanTemporaries::PlanTemporaries(const PlanInterface &planOfAll) : plan(planOfAll) {
  hasBlocks.resize(plan.temporaries().size());
  reduced.resize(plan.temporaries().size());
}

void PlanTemporaries::markColumns(size_t index, Extent matrices) {
  hasBlocks[index] = 1;
  reduced[index] = matrices;
}

void PlanTemporaries::allocate(const std::vector<TensorShape> &shapes) {
  places.clear();
  columnsBefore.assign(1, 0);
  if (empty())
    return;
  size_t total = 0;
  auto take = [&](int64_t count, size_t elementBytes) {
    const size_t start = total;
    total += alignedSize(static_cast<size_t>(count) * elementBytes);
    return start;
  };
  for (const TensorShape &shape : shapes) {
    for (size_t i = 0; i < plan.temporaries().size(); ++i) {
      const StreamInterface &temporary = plan.temporaries()[i];
      const size_t values = take(has(i) ? shape.count(temporary.over) : 0, sizeOf(temporary.dtype));
      const size_t blocks =
          hasBlocks[i] ? take(shape.of(reduced[i]).blocks() * shape.columns, sizeof(double))
                       : values;
      places.push_back({values, blocks});
    }
    columnsBefore.push_back(columnsBefore.back() +
                            static_cast<size_t>(shape.count(Extent::Column)));
  }
  if (total <= memory.size())
    return;
  StateArena larger = StateArena::allocate(total);
  if (!larger.data())
    throw std::bad_alloc();
  memory = std::move(larger);
}

void *PlanTemporaries::values(size_t position, size_t index) const {
  return memory.data() + places[position * plan.temporaries().size() + index].values;
}

double *PlanTemporaries::blockValues(size_t position, size_t index) const {
  return reinterpret_cast<double *>(memory.data() +
                                    places[position * plan.temporaries().size() + index].blocks);
}

void PlanTemporaries::combineColumns(ReductionInterface::Kind kind, size_t index,
                                     const std::vector<TensorShape> &shapes, size_t beginTensor,
                                     size_t endTensor, const upd_pool &pool) const {
  constexpr size_t columnsPerPart = 512;
  const size_t before = columnsBefore[beginTensor];
  forParts(pool, columnsBefore[endTensor] - before, columnsPerPart, [&](size_t begin, size_t end) {
    begin += before;
    end += before;
    size_t position =
        static_cast<size_t>(std::upper_bound(columnsBefore.begin(), columnsBefore.end(), begin) -
                            columnsBefore.begin() - 1);
    while (begin < end) {
      const TensorShape &shape = shapes[position];
      const auto first = static_cast<int64_t>(begin - columnsBefore[position]);
      const int64_t last = std::min<int64_t>(static_cast<int64_t>(end - columnsBefore[position]),
                                             shape.batches * shape.columns);
      combineColumns(kind, index, position, shape, first, last);
      begin = columnsBefore[++position];
    }
  });
}

/// Combines columns [begin, end) of a tensor, counted over all batches.
void PlanTemporaries::combineColumns(ReductionInterface::Kind kind, size_t index, size_t position,
                                     const TensorShape &shape, int64_t begin, int64_t end) const {
  const int64_t perBatch = shape.of(reduced[index]).blocksPerBatch();
  double *blocks = blockValues(position, index);
  auto *results = static_cast<double *>(values(position, index));
  while (begin < end) {
    const int64_t batch = begin / shape.columns, column = begin % shape.columns;
    const int64_t count = std::min(end - begin, shape.columns - column);
    double *first = blocks + batch * perBatch * shape.columns + column;
    combineVectors(kind, first, perBatch, count, shape.columns);
    if (perBatch == 0)
      std::fill(results + begin, results + begin + count, identityOf(kind));
    else
      std::copy(first, first + count, results + begin);
    begin += count;
  }
}
