//===- ProbeRing.cpp - The values of probes of the last steps ---------------------------------===//
// Each row has a sequence number (Boehm, "Can seqlocks get along with programming language memory
// models?", MSPC 2012): a reader copies the row between two reads of it, and drops the copy if the
// number has changed.

#include "runtime/optimizer/ProbeRing.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

using namespace updraft::runtime;

static size_t capacityFor(size_t rows, size_t probes) {
  return probes == 0 ? 0 : std::bit_ceil(rows);
}

size_t ProbeRing::bytesFor(size_t rows, size_t probes) {
  return (1 + capacityFor(rows, probes) * (3 + probes)) * sizeof(Word);
}

ProbeRing::ProbeRing(size_t rows, size_t probes, std::shared_ptr<void> memory)
    : probeCount(probes), rowCount(capacityFor(rows, probes)), owner(std::move(memory)) {
  if (!owner) {
    owner.reset(std::calloc(bytesFor(rows, probes), 1), std::free);
    if (!owner)
      throw std::bad_alloc();
  }
  words = static_cast<Word *>(owner.get());
}

void ProbeRing::add(Row row, std::span<const double> values) {
  const uint64_t number = added().load(std::memory_order_relaxed);
  Word *word = rowAt(number);
  word[0].store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  word[1].store(static_cast<uint64_t>(row.step), std::memory_order_relaxed);
  word[2].store(row.param, std::memory_order_relaxed);
  for (size_t i = 0; i < probeCount; ++i)
    word[3 + i].store(std::bit_cast<uint64_t>(values[i]), std::memory_order_relaxed);
  word[0].store(number + 1, std::memory_order_release);
  added().store(number + 1, std::memory_order_release);
}

ProbeRing::Read ProbeRing::read(uint64_t &cursor, std::span<Row> rows, double *values) const {
  const uint64_t end = added().load(std::memory_order_acquire);
  Read result{0, 0};
  cursor = std::min(cursor, end);
  while (cursor < end && result.count < rows.size()) {
    if (end - cursor > rowCount) {
      result.lost += end - rowCount - cursor;
      cursor = end - rowCount;
    }
    const Word *word = rowAt(cursor);
    const uint64_t before = word[0].load(std::memory_order_acquire);
    Row &row = rows[result.count];
    row.step = static_cast<int64_t>(word[1].load(std::memory_order_relaxed));
    row.param = static_cast<uint32_t>(word[2].load(std::memory_order_relaxed));
    double *to = values + result.count * probeCount;
    for (size_t i = 0; i < probeCount; ++i)
      to[i] = std::bit_cast<double>(word[3 + i].load(std::memory_order_relaxed));
    std::atomic_thread_fence(std::memory_order_acquire);
    const bool isComplete =
        before == cursor + 1 && word[0].load(std::memory_order_relaxed) == before;
    result.count += isComplete;
    result.lost += !isComplete;
    ++cursor;
  }
  return result;
}
