//===- SweepDomain.cpp - The ranges that a sweep runs over ------------------------------------===//

#include "runtime/cpu/SweepDomain.h"

#include <algorithm>

using namespace updraft::runtime;

size_t SweepDomain::siteIndexOf(Extent matrices) {
  return static_cast<size_t>(std::find(std::begin(siteMatrices), std::end(siteMatrices), matrices) -
                             siteMatrices);
}

SweepDomain::Key SweepDomain::keyOf(const SweepInterface &sweep) {
  if (sweep.isMatrix)
    return {Kind::Blocks, sweep.over};
  switch (sweep.over) {
  case Extent::Row:
    return {sweep.isBatches ? Kind::BatchRows : Kind::Rows};
  case Extent::Column:
    return {sweep.isBatches ? Kind::BatchColumns : Kind::Columns};
  case Extent::Batch:
    return {Kind::Batches};
  default:
    return {Kind::Elements, sweep.over};
  }
}

const char *SweepDomain::nameOf(Kind kind) {
  static constexpr const char *names[] = {"elements", "rows",    "columns", "batches",
                                          "blocks",   "batches", "batches"};
  return names[static_cast<size_t>(kind)];
}

void SweepDomain::clear() {
  ranges.clear();
  costs.clear();
  firstLeaves.assign(1, 0);
  partition = StepPartition();
}

void SweepDomain::add(const TensorShape &ofTensor) {
  const TensorShape shape = ofTensor.of(key.matrices);
  static constexpr Extent extents[] = {Extent::Element, Extent::Row, Extent::Column, Extent::Batch,
                                       Extent::Element, Extent::Row, Extent::Column};
  const int64_t values = shape.count(extents[static_cast<size_t>(key.kind)]);
  if (hasUnits()) {
    const int64_t units = key.kind == Kind::Blocks ? shape.blocks() : shape.batches;
    ranges.push_back({0, units});
    costs.push_back(values);
    firstLeaves.push_back(leaves() + units);
    return;
  }
  ranges.push_back({0, values});
  firstLeaves.push_back(leaves() + (values + UPD_LEAF_ELEMENTS - 1) / UPD_LEAF_ELEMENTS);
}

size_t SweepDomain::threadsFor(int64_t cost, const upd_pool &pool) {
  if (cost < inlineCost)
    return 1;
  return static_cast<size_t>(
      std::clamp<int64_t>(pool.thread_count(pool.pool), 1, cost / threadCost));
}

const StepPartition &SweepDomain::parts(size_t begin, size_t end, const upd_pool &pool) {
  const bool isOther = partition.parts() == 0 || begin != partitionBegin || end != partitionEnd;
  if (isOther) {
    partitionBegin = begin;
    partitionEnd = end;
    partitionCost = 0;
    for (size_t position = begin; position < end; ++position)
      partitionCost += costOf(position);
  }
  size_t parts = threadsFor(partitionCost, pool);
  if (parts > 1)
    parts *= std::min(partsPerThread, static_cast<size_t>(partitionCost / threadCost) / parts);
  if (isOther || partition.parts() != parts)
    partition.assign(
        begin, end, [&](size_t i) { return costOf(i); },
        [&](size_t i, int64_t offset) {
          return hasUnits() ? StepPartition::blockNear(i, costs[i], ranges[i].end, offset)
                            : StepPartition::leafNear(i, ranges[i].end, offset);
        },
        partitionCost, parts);
  return partition;
}
