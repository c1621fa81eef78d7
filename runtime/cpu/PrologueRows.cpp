//===- PrologueRows.cpp - The scalars of a step -----------------------------------------------===//

#include "runtime/cpu/PrologueRows.h"

#include "runtime/base/DType.h"
#include "runtime/base/PoolParts.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

using namespace updraft::runtime;

static constexpr size_t rowAlignment = 64;
static constexpr uint32_t empty = ~uint32_t(0);

void PrologueRows::FreeMemory::operator()(void *memory) const { std::free(memory); }

PrologueRows::PrologueRows(std::shared_ptr<const Kernels> kernelsToUse, size_t planIndex)
    : kernels(std::move(kernelsToUse)), plan(kernels->interface.plans[planIndex]),
      functions(kernels->plans[planIndex]), scalarCount(plan.scalarStates.size()),
      nextCount(scalarCount + (plan.isProbed ? kernels->interface.probes.size() : 0)),
      reducedCount(0), isSingle(kernels->interface.compute == UPD_F32), perTensor(false) {
  Difference difference = Difference::None;
  for (const StageInterface &stage : plan.sequence) {
    perTensor |= stage.byTensor;
    differences.push_back(difference);
    if (stage.isPrologue())
      difference = std::max(difference, stage.byTensor ? Difference::All : Difference::Keys);
  }
  for (const SweepInterface &sweep : plan.sweeps) {
    reducedCount += sweep.scalarReductions();
    for (const ReductionInterface &reduction : sweep.reductions)
      perTensor |= reduction.over == Extent::Tensor;
  }
  for (uint32_t state : plan.scalarStates)
    perTensor |= kernels->interface.states[state].over == Extent::Tensor;
  const size_t bytes = plan.rowScalars * sizeOf(kernels->interface.compute);
  rowBytes = (bytes + rowAlignment - 1) / rowAlignment * rowAlignment;
}

void PrologueRows::clear() {
  keys.clear();
  params.clear();
  facts.clear();
  table.assign(std::max<size_t>(table.size(), 16), empty);
}

static size_t hashOf(const PrologueRows::Key &key) {
  uint64_t hash = static_cast<uint64_t>(key.steps) * 2 + key.first;
  hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15 + key.group;
  hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9;
  return hash ^ hash >> 32;
}

uint32_t PrologueRows::append(uint32_t param, const Key &key) {
  keys.push_back(key);
  params.push_back(param);
  facts.resize(facts.size() + UPD_TENSOR_FACTS);
  return static_cast<uint32_t>(keys.size() - 1);
}

uint32_t PrologueRows::find(const Key &key) {
  if (keys.size() * 2 >= table.size()) {
    table.assign(table.size() * 2, empty);
    for (uint32_t i = 0; i < keys.size(); ++i) {
      size_t slot = hashOf(keys[i]) % table.size();
      while (table[slot] != empty)
        slot = (slot + 1) % table.size();
      table[slot] = i;
    }
  }
  size_t slot = hashOf(key) % table.size();
  for (; table[slot] != empty; slot = (slot + 1) % table.size())
    if (keys[table[slot]] == key)
      return table[slot];
  return table[slot] = static_cast<uint32_t>(keys.size());
}

uint32_t PrologueRows::add(uint32_t param, const Key &key, const TensorShape &shape) {
  if (perTensor) {
    const uint32_t row = append(param, key);
    double *own = facts.data() + row * UPD_TENSOR_FACTS;
    own[UPD_TENSOR_SIZE] = static_cast<double>(shape.elements());
    own[UPD_TENSOR_ROWS] = static_cast<double>(shape.rows);
    own[UPD_TENSOR_COLUMNS] = static_cast<double>(shape.columns);
    return row;
  }
  // Most tensors have the same row as the tensor before.
  if (keys.empty() || keys[last] != key) {
    last = find(key);
    if (last == keys.size())
      append(param, key);
  }
  return last;
}

void PrologueRows::finish(const std::vector<int64_t> &groupSizes) {
  for (size_t row = 0; row < keys.size(); ++row)
    facts[row * UPD_TENSOR_FACTS + UPD_TENSOR_GROUP_SIZE] =
        static_cast<double>(groupSizes[keys[row].group]);
  skipped.assign(keys.size(), 0);
  firstRows = static_cast<size_t>(
      std::count_if(keys.begin(), keys.end(), [](const Key &key) { return key.first; }));
  scalarMemory.assign(keys.size() * scalarCount, nullptr);
  scalars.resize(keys.size() * scalarCount);
  nextScalars.resize(keys.size() * nextCount);
  reduced.assign(keys.size() * reducedCount, 0);
  if (keys.size() > capacity) {
    memory.reset(static_cast<char *>(std::aligned_alloc(rowAlignment, keys.size() * rowBytes)));
    capacity = memory ? keys.size() : 0;
    if (!memory)
      throw std::bad_alloc();
  }
  // A sweep may read a row before the first prologue writes it.
  if (!keys.empty())
    std::memset(memory.get(), 0, keys.size() * rowBytes);
}

bool PrologueRows::hasSkipped() const {
  return std::find(skipped.begin(), skipped.end(), 1) != skipped.end();
}

bool PrologueRows::lacksScalars() const {
  return std::find(scalarMemory.begin(), scalarMemory.end(), nullptr) != scalarMemory.end();
}

void PrologueRows::start(const InitialValues &initial) {
  std::fill(skipped.begin(), skipped.end(), 0);
  for (size_t row = 0; row < keys.size() && nextCount != 0; ++row) {
    for (size_t i = scalarCount; i < nextCount; ++i)
      nextScalars[row * nextCount + i] = std::numeric_limits<double>::quiet_NaN();
    for (size_t i = 0; i < scalarCount; ++i) {
      const StateInterface &state = kernels->interface.states[plan.scalarStates[i]];
      const void *data = scalarMemory[row * scalarCount + i];
      double &value = scalars[row * scalarCount + i];
      value = data ? loadExact(state.dtype, data)
                   : initial.value(keys[row].group, plan.scalarStates[i]);
      nextScalars[row * nextCount + i] = value;
    }
  }
}

void PrologueRows::evaluate(upd_prologue_function prologue, const GroupHypers &hypers, size_t row) {
  const Key &key = keys[row];
  double *own = facts.data() + row * UPD_TENSOR_FACTS;
  own[UPD_TENSOR_STEP] = static_cast<double>(key.steps) + 1;
  own[UPD_TENSOR_FIRST] = key.first ? 1 : 0;
  prologue(hypers.of(key.group), own, reducedCount ? reduced.data() + row * reducedCount : nullptr,
           scalarCount ? scalars.data() + row * scalarCount : nullptr,
           memory.get() + row * rowBytes,
           nextCount ? nextScalars.data() + row * nextCount : nullptr);
}

/// Copies the results of prologues by step, including scalar states over groups and probes.
void PrologueRows::copy(size_t from, size_t to) {
  std::memcpy(memory.get() + to * rowBytes, memory.get() + from * rowBytes, rowBytes);
  for (size_t i = 0; i < scalarCount; ++i)
    if (kernels->interface.states[plan.scalarStates[i]].over == Extent::Group)
      nextScalars[to * nextCount + i] = nextScalars[from * nextCount + i];
  for (size_t i = scalarCount; i < nextCount; ++i)
    nextScalars[to * nextCount + i] = nextScalars[from * nextCount + i];
}

static bool isSkipFlagSet(const char *row, upd_dtype compute) {
  return compute == UPD_F64 ? *reinterpret_cast<const double *>(row) != 0
                            : *reinterpret_cast<const float *>(row) != 0;
}

void PrologueRows::evaluate(size_t stageIndex, size_t begin, size_t end, const GroupHypers &hypers,
                            const upd_pool &pool) {
  const StageInterface &stage = plan.sequence[stageIndex];
  const upd_prologue_function prologue = functions.prologues[stage.index];
  const upd_dtype compute = kernels->interface.compute;
  const bool shared = perTensor && !stage.byTensor && differenceAt(stageIndex) != Difference::All;
  const size_t rowsPerPart = shared ? 4096 : 256;
  forParts(pool, end - begin, rowsPerPart, [&](size_t first, size_t last) {
    for (size_t row = begin + first; row < begin + last; ++row) {
      if (skipped[row])
        continue;
      if (shared && row != begin + first && keys[row] == keys[row - 1])
        copy(row - 1, row);
      else
        evaluate(prologue, hypers, row);
      skipped[row] = isSkipFlagSet(memory.get() + row * rowBytes, compute);
    }
  });
}

void PrologueRows::commitScalar(uint32_t row, size_t scalar) const {
  storeRounded(kernels->interface.states[plan.scalarStates[scalar]].dtype,
               nextScalars[row * nextCount + scalar], scalarMemory[row * scalarCount + scalar]);
}

void PrologueRows::commitScalars() const {
  for (size_t i = 0; i < scalarCount; ++i)
    if (kernels->interface.states[plan.scalarStates[i]].over == Extent::Tensor)
      for (uint32_t row = 0; row < keys.size(); ++row)
        if (!skipped[row])
          commitScalar(row, i);
}

void PrologueRows::findLowest(uint32_t planIndex, std::vector<GroupRow> &lowest) const {
  for (uint32_t i = 0; i < keys.size(); ++i) {
    GroupRow &found = lowest[keys[i].group];
    if (!skipped[i] && params[i] < found.param)
      found = {params[i], i, planIndex};
  }
}

bool PrologueRows::advance(int64_t count) {
  const bool same = perTensor || firstRows == 0 || firstRows == keys.size();
  for (Key &key : keys) {
    key.steps += count;
    key.first = false;
  }
  firstRows = 0;
  return same;
}
