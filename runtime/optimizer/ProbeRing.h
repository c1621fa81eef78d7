//===- ProbeRing.h - The values of probes of the last steps -------------------------*- C++ -*-===//
// A ring buffer of rows: one for each tensor of a probed step. The thread that steps adds rows and
// never waits. Any number of threads may read at the same time. A reader that is too slow loses the
// oldest rows, and is told how many.

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_PROBERING_H
#define UPDRAFT_RUNTIME_OPTIMIZER_PROBERING_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace updraft::runtime {

class ProbeRing {
public:
  struct Row {
    int64_t step; // the parameter's step count, this step included
    uint32_t param;
  };
  /// The rows that a read returned, and those that were overwritten before.
  struct Read {
    size_t count;
    uint64_t lost;
  };

  /// A ring of at least `rows` rows of `probes` values. Without probes it has no rows, and `add`
  /// must not be called. `memory` has bytesFor(rows, probes) zeros that a device writes to instead
  /// of `add`; null: the ring's own.
  ProbeRing(size_t rows, size_t probes, std::shared_ptr<void> memory = nullptr);
  static size_t bytesFor(size_t rows, size_t probes);

  size_t probes() const { return probeCount; }
  /// The number of rows that the ring keeps. A power of two, or 0.
  size_t capacity() const { return rowCount; }

  /// The memory: the number of rows that were added, then the rows. A row has its number + 1 when
  /// it is complete, else 0; the step; the parameter; the values. Row n is at n mod capacity().
  uint64_t *memory() const { return reinterpret_cast<uint64_t *>(words); }

  /// Adds a row. Called by one thread at a time.
  void add(Row row, std::span<const double> values);

  /// Copies complete rows from row `cursor` on, counted from the first that was ever added, and
  /// moves the cursor behind them and those that were lost. `values` has room for probes() values
  /// per row.
  Read read(uint64_t &cursor, std::span<Row> rows, double *values) const;

private:
  using Word = std::atomic<uint64_t>;
  static_assert(sizeof(Word) == sizeof(uint64_t));

  Word &added() const { return words[0]; }
  Word *rowAt(uint64_t number) const {
    return words + 1 + (number & (rowCount - 1)) * (3 + probeCount);
  }

  size_t probeCount;
  size_t rowCount;
  std::shared_ptr<void> owner;
  Word *words;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_PROBERING_H
