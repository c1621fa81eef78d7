//===- PassDomain.cpp - What a pass runs over -------------------------------------------------===//

#include "runtime/cpu/PassDomain.h"

#include <algorithm>

using namespace updraft::runtime;

PassDomain::Kind PassDomain::kindOf(const PassInterface &pass) {
  if (pass.isMatrix)
    return Kind::Blocks;
  switch (pass.over) {
  case Extent::Row:
    return pass.isBatches ? Kind::BatchRows : Kind::Rows;
  case Extent::Column:
    return pass.isBatches ? Kind::BatchColumns : Kind::Columns;
  case Extent::Batch:
    return Kind::Batches;
  default:
    return Kind::Elements;
  }
}

void PassDomain::clear() {
  ranges.clear();
  costs.clear();
  firstLeaves.assign(1, 0);
  cost = 0;
  partition = StepPartition();
}

void PassDomain::add(const TensorShape &shape) {
  static constexpr Extent extents[] = {Extent::Element, Extent::Row, Extent::Column, Extent::Batch,
                                       Extent::Element, Extent::Row, Extent::Column};
  const int64_t values = shape.count(extents[static_cast<size_t>(kind)]);
  cost += values + StepPartition::tensorCost;
  if (hasUnits()) {
    const int64_t units = kind == Kind::Blocks ? shape.blocks() : shape.batches;
    ranges.push_back({0, units});
    costs.push_back(values);
    firstLeaves.push_back(leaves() + units);
    return;
  }
  ranges.push_back({0, values});
  firstLeaves.push_back(leaves() + (values + UPD_LEAF_ELEMENTS - 1) / UPD_LEAF_ELEMENTS);
}

const StepPartition &PassDomain::parts(const upd_pool &pool) {
  size_t threads = 1;
  if (cost >= inlineCost)
    threads = static_cast<size_t>(
        std::clamp<int64_t>(pool.thread_count(pool.pool), 1, cost / threadCost));
  if (partition.parts() == threads)
    return partition;
  if (hasUnits())
    partition.assign(
        ranges.size(), [&](size_t i) { return costs[i]; },
        [&](size_t i, int64_t offset) {
          return StepPartition::blockNear(i, costs[i], ranges[i].end, offset);
        },
        cost, threads);
  else
    partition.assign(ranges.size(), [&](size_t i) { return ranges[i].end; }, cost, threads);
  return partition;
}
