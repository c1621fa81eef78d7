//===- Report.h - Rows as a table, JSON and a chart ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_REPORT_H
#define UPDRAFT_TOOLS_BENCH_REPORT_H

#include "Race.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace updraft::bench {

/// Prints the heading. Rows follow as they become available.
void printHeading();
void printRow(const Row &row);

/// Thrown if the file of a report cannot be written.
struct CannotWrite : std::runtime_error {
  CannotWrite(const std::string &path, const std::string &reason)
      : std::runtime_error("cannot write `" + path + "`: " + reason) {}
};

/// Checks that a report can be written, before measuring. An empty path means no report. Throws
/// CannotWrite.
void checkWritable(const std::string &path);

/// Writes an array of objects {"work", "impl", "dtype", "min_ms", "median_ms", "ratio_to_limit"}.
/// The ratio is null if there isn't a limit. A row with a figure also has "figure": {"is",
/// "value"}, and if the figure has a bound, "at_least" or "at_most", and "reached". Throws
/// CannotWrite.
void writeJson(const std::vector<Row> &rows, const std::string &path);

/// Draws bar charts of the ratios to the limit and of the peers beside `updraft`, as SVG. Throws
/// CannotWrite.
void writeSvg(const std::vector<Row> &rows, const std::string &path);

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_REPORT_H
