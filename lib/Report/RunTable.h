//===- RunTable.h - The probes of a run, from CSV -----------------------------------*- C++ -*-===//
// Reads the files that `updraft-run --probe-out` and `updraft.probes.CsvWriter` write: a line of
// names, `step,parameter,PROBE,…`, and a line for each parameter and step (RFC 4180).

#ifndef UPDRAFT_LIB_REPORT_RUNTABLE_H
#define UPDRAFT_LIB_REPORT_RUNTABLE_H

#include "updraft/Report/Report.h"

#include <cstdint>
#include <string>
#include <vector>

namespace updraft {

/// A column of numbers, or the columns of a histogram.
struct RunProbe {
  std::string name;
  std::vector<double> bounds; ///< empty for a number
  size_t first = 0;           ///< of the columns

  size_t count() const { return bounds.empty() ? 1 : bounds.size() + 1; }
  bool operator==(const RunProbe &) const = default;
};

struct RunTable {
  struct Row {
    int64_t step;
    uint32_t parameter;
  };

  std::string name; ///< of the file
  std::vector<RunProbe> probes;
  std::vector<std::string> parameters;
  std::vector<Row> rows; ///< in the order of the file
  std::vector<double> values;
  size_t columns = 0;

  llvm::ArrayRef<double> valuesOf(size_t row) const {
    return llvm::ArrayRef(values).slice(row * columns, columns);
  }
};

/// Returns an error with the place in the file if the text isn't such a table.
llvm::Expected<RunTable> readRunTable(const RunFile &file);

} // namespace updraft

#endif // UPDRAFT_LIB_REPORT_RUNTABLE_H
