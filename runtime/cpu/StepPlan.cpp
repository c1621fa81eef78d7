//===- StepPlan.cpp - A step as a flat list of tensors ----------------------------------------===//

#include "runtime/cpu/StepPlan.h"

#include "runtime/base/DType.h"
#include "runtime/cpu/FloatEnvironment.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

using namespace updraft::runtime;

static constexpr size_t rowAlignment = 64;

void StepPlan::FreeMemory::operator()(void *memory) const { std::free(memory); }

StepPlan::StepPlan(std::shared_ptr<const Kernels> kernelsToUse)
    : kernels(std::move(kernelsToUse)),
      streamCount(kernels->interface.streamsOf(kernels->interface.plans[0]).size()) {
  const size_t bytes = kernels->interface.plans[0].rowScalars * sizeOf(kernels->interface.compute);
  rowBytes = (bytes + rowAlignment - 1) / rowAlignment * rowAlignment;
}

void StepPlan::clear(size_t paramCount) {
  accepted = false;
  list.clear();
  ranges.clear();
  streams.clear();
  rows.clear();
  rowTable.assign(std::max<size_t>(rowTable.size(), 16), absent);
  positions.assign(paramCount, absent);
  cost = 0;
}

static size_t hashOf(const StepPlan::Row &row) {
  uint64_t hash = static_cast<uint64_t>(row.steps) * 2 + row.first;
  hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15 + row.group;
  hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9;
  return hash ^ hash >> 32;
}

uint32_t StepPlan::findRow(const Row &row) {
  if (rows.size() * 2 >= rowTable.size()) {
    rowTable.assign(rowTable.size() * 2, absent);
    for (uint32_t i = 0; i < rows.size(); ++i) {
      size_t slot = hashOf(rows[i]) % rowTable.size();
      while (rowTable[slot] != absent)
        slot = (slot + 1) % rowTable.size();
      rowTable[slot] = i;
    }
  }
  size_t slot = hashOf(row) % rowTable.size();
  for (; rowTable[slot] != absent; slot = (slot + 1) % rowTable.size())
    if (rows[rowTable[slot]] == row)
      return rowTable[slot];
  rows.push_back(row);
  return rowTable[slot] = static_cast<uint32_t>(rows.size() - 1);
}

void StepPlan::add(uint32_t param, int64_t elements, const Row &row) {
  // Nearly always the row of the parameter before.
  const uint32_t index =
      !list.empty() && rows[list.back().row] == row ? list.back().row : findRow(row);
  positions[param] = static_cast<uint32_t>(list.size());
  list.push_back({param, index});
  ranges.push_back({0, elements});
  streams.resize(streams.size() + streamCount, nullptr);
  cost += elements + StepPartition::tensorCost;
}

void StepPlan::finish() {
  skipped.assign(rows.size(), 0);
  firstRows = static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [](const Row &row) { return row.first; }));
  if (rows.size() > rowCapacity) {
    rowMemory.reset(static_cast<char *>(std::aligned_alloc(rowAlignment, rows.size() * rowBytes)));
    rowCapacity = rowMemory ? rows.size() : 0;
    if (!rowMemory)
      throw std::bad_alloc();
  }
  partition = StepPartition();
}

static bool isSkipFlagSet(const char *row, upd_dtype compute) {
  if (compute == UPD_F64) {
    double flag;
    std::memcpy(&flag, row, sizeof(flag));
    return flag != 0;
  }
  float flag;
  std::memcpy(&flag, row, sizeof(flag));
  return flag != 0;
}

void StepPlan::evaluate(const GroupHypers &hypers) {
  const RuleInterface &interface = kernels->interface;
  skippedRows = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    double facts[UPD_TENSOR_FACTS] = {};
    facts[UPD_TENSOR_STEP] = static_cast<double>(rows[i].steps) + 1;
    facts[UPD_TENSOR_FIRST] = rows[i].first ? 1 : 0;
    char *row = rowMemory.get() + i * rowBytes;
    kernels->plans[0].prologues[0](hypers.of(rows[i].group), facts, nullptr, nullptr, row, nullptr);
    skipped[i] = isSkipFlagSet(row, interface.compute);
    skippedRows += skipped[i] != 0;
  }
  const size_t stateCount = interface.states.size();
  if (firstRows == 0 || stateCount == 0)
    return;

  initialScratch.resize(stateCount);
  initialValues.resize(hypers.groupCount() * stateCount);
  zeroInitial = true;
  for (size_t group = 0; group < hypers.groupCount(); ++group) {
    kernels->initial(hypers.of(group), initialScratch.data());
    for (size_t i = 0; i < stateCount; ++i) {
      InitialValue &value = initialValues[group * stateCount + i];
      const upd_dtype dtype = interface.states[i].dtype;
      storeRounded(dtype, initialScratch[i], value.element);
      value.isZero = std::all_of(value.element, value.element + sizeOf(dtype),
                                 [](char byte) { return byte == 0; });
      zeroInitial &= value.isZero;
    }
  }
}

template <typename Element>
static void fill(void *data, const void *value, int64_t begin, int64_t end) {
  Element element;
  std::memcpy(&element, value, sizeof(element));
  std::fill(static_cast<Element *>(data) + begin, static_cast<Element *>(data) + end, element);
}

void StepPlan::initialise(size_t position, int64_t begin, int64_t end) const {
  const size_t stateCount = kernels->interface.states.size();
  const uint32_t group = rows[list[position].row].group;
  for (size_t i = 0; i < stateCount; ++i) {
    const InitialValue &value = initialValues[group * stateCount + i];
    if (value.isZero)
      continue; // as the memory comes from the system
    void *data = streams[position * streamCount + StreamIndex::FirstState + i];
    switch (sizeOf(kernels->interface.states[i].dtype)) {
    case 2:
      fill<uint16_t>(data, value.element, begin, end);
      break;
    case 4:
      fill<uint32_t>(data, value.element, begin, end);
      break;
    case 8:
      fill<uint64_t>(data, value.element, begin, end);
      break;
    default: // no other size
      break;
    }
  }
}

void StepPlan::runTensor(size_t position, int64_t begin, int64_t end) const {
  if (begin >= end || skipped[list[position].row])
    return;
  if (rows[list[position].row].first && !zeroInitial)
    initialise(position, begin, end);
  const char *row = rowData(list[position].row);
  void *const *tensor = streams.data() + position * streamCount;
  if (kernels->plans[0].passes.size() == 1) {
    const upd_range range{begin, end};
    return kernels->plans[0].passes.front()(row, tensor, &range, 1, nullptr, nullptr);
  }
  // Leaf by leaf, so that what one pass wrote is in the cache for the next.
  for (int64_t leaf = begin; leaf < end; leaf += UPD_LEAF_ELEMENTS) {
    const upd_range range{leaf, std::min<int64_t>(leaf + UPD_LEAF_ELEMENTS, end)};
    for (upd_pass_function pass : kernels->plans[0].passes)
      pass(row, tensor, &range, 1, nullptr, nullptr);
  }
}

/// Tensors that are run over from start to end, in one call where they share a row: it is here that
/// the cost per tensor counts.
void StepPlan::runWhole(size_t begin, size_t end) const {
  if (kernels->plans[0].passes.size() != 1 || (firstRows != 0 && !zeroInitial)) {
    for (size_t i = begin; i < end; ++i)
      runTensor(i, 0, ranges[i].end);
    return;
  }
  const upd_pass_function pass = kernels->plans[0].passes.front();
  while (begin < end) {
    const uint32_t row = list[begin].row;
    size_t next = begin + 1;
    while (next < end && list[next].row == row)
      ++next;
    if (!skipped[row])
      pass(rowData(row), streams.data() + begin * streamCount, ranges.data() + begin,
           static_cast<int64_t>(next - begin), nullptr, nullptr);
    begin = next;
  }
}

void StepPlan::runPart(size_t part) const {
  StepBoundary begin = partition[part];
  const StepBoundary end = partition[part + 1];
  if (begin.tensor == end.tensor)
    return runTensor(begin.tensor, begin.element, end.element);
  if (begin.element != 0) {
    runTensor(begin.tensor, begin.element, ranges[begin.tensor].end);
    ++begin.tensor;
  }
  runWhole(begin.tensor, end.tensor);
  if (end.element != 0)
    runTensor(end.tensor, 0, end.element);
}

void StepPlan::run(const upd_pool &pool) {
  if (list.empty())
    return;
  int32_t threads = 1;
  if (cost >= inlineCost)
    threads = static_cast<int32_t>(
        std::clamp<int64_t>(pool.thread_count(pool.pool), 1, cost / threadCost));
  if (partition.parts() != static_cast<size_t>(threads))
    partition.assign(
        list.size(), [&](size_t i) { return ranges[i].end; }, cost, static_cast<size_t>(threads));
  if (threads == 1)
    return runPart(0);
  pool.run(
      pool.pool, threads,
      [](void *plan, int32_t part) {
        DefaultFloatEnvironment environment;
        static_cast<const StepPlan *>(plan)->runPart(static_cast<size_t>(part));
      },
      this);
}

void StepPlan::advance() {
  // Rows that differed only in `first` are equal from now on.
  if (firstRows != 0 && firstRows != rows.size())
    discard();
  for (Row &row : rows) {
    ++row.steps;
    row.first = false;
  }
  firstRows = 0;
}
