//===- Report.h - Rows as table, JSON and picture -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_REPORT_H
#define UPDRAFT_TOOLS_BENCH_REPORT_H

#include "Race.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace updraft::bench {

/// Prints the heading, and then rows as they come.
void printHeading();
void printRow(const Row &row);

/// Thrown if the file of a report cannot be written.
struct CannotWrite : std::runtime_error {
  CannotWrite(const std::string &path, const std::string &reason)
      : std::runtime_error("cannot write `" + path + "`: " + reason) {}
};

/// Checks before measuring that a report can be written. An empty path means no report. Throws
/// CannotWrite.
void checkWritable(const std::string &path);

/// An array of objects {"work", "impl", "dtype", "min_ms", "median_ms", "ratio_to_limit"}; the
/// ratio is null where there is no limit. A row with a figure has "figure" besides: {"is",
/// "value"}, and, where something is required, "at_least" or "at_most", and "reached". Throws
/// CannotWrite.
void writeJson(const std::vector<Row> &rows, const std::string &path);

/// Bar charts of the ratios to the limit and of peers beside `updraft`, as SVG. Throws
/// CannotWrite.
void writeSvg(const std::vector<Row> &rows, const std::string &path);

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_REPORT_H
