//===- Report.cpp - Rows as a table, JSON and a chart -----------------------------------------===//

#include "Report.h"

#include "runtime/files/FileReplacement.h"
#include "tools/options/StandardStreams.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

using namespace updraft;
using namespace updraft::bench;

void updraft::bench::printHeading() {
  fmt::print("{:<35} {:<23} {:<9} {:>11} {:>11} {:>9}\n", "work", "impl", "dtype", "min ms",
             "median ms", "of limit");
}

static std::string textOf(const Figure &figure) {
  std::string text = fmt::format("{:.3g} {}", figure.value, figure.is);
  if (figure.bound)
    text += fmt::format(", at {} {:.3g}: {}", figure.atLeast ? "least" : "most", *figure.bound,
                        figure.reached() ? "reached" : "missed");
  return text;
}

void updraft::bench::printRow(const Row &row) {
  std::string line = fmt::format("{:<35} {:<23} {:<9} {:>11.4f} {:>11.4f} {:>9}", row.work,
                                 row.impl, row.dtype, row.minMs, row.medianMs,
                                 row.ratioToLimit ? fmt::format("{:.3f}", *row.ratioToLimit) : "");
  if (row.figure)
    line += "  " + textOf(*row.figure);
  fmt::print("{}\n", line);
  flushStandardOutput();
}

void updraft::bench::checkWritable(const std::string &path) {
  if (path.empty())
    return;
  if (const files::Failure failure = files::checkWritable(path))
    throw CannotWrite(path, *failure);
}

static void write(const std::string &path, const std::string &text) {
  if (const files::Failure failure = files::writeFile(path, text))
    throw CannotWrite(path, *failure);
}

static nlohmann::ordered_json jsonOf(const Figure &figure) {
  nlohmann::ordered_json object{{"is", figure.is}, {"value", figure.value}};
  if (figure.bound) {
    object[figure.atLeast ? "at_least" : "at_most"] = *figure.bound;
    object["reached"] = figure.reached();
  }
  return object;
}

void updraft::bench::writeJson(const std::vector<Row> &rows, const std::string &path) {
  auto json = nlohmann::ordered_json::array();
  for (const Row &row : rows) {
    nlohmann::ordered_json object{{"work", row.work},          {"impl", row.impl},
                                  {"dtype", row.dtype},        {"min_ms", row.minMs},
                                  {"median_ms", row.medianMs}, {"ratio_to_limit", nullptr}};
    if (row.ratioToLimit)
      object["ratio_to_limit"] = *row.ratioToLimit;
    if (row.figure)
      object["figure"] = jsonOf(*row.figure);
    json.push_back(std::move(object));
  }
  write(path, json.dump(2) + "\n");
}

namespace {
/// A chart that grows downwards.
struct Chart {
  static constexpr int rowHeight = 18, left = 330, width = 420;

  void heading(const std::string &text) {
    content += fmt::format("<text x='{}' y='{}'>{}</text>\n", left, height + 16, text);
    height += 30;
  }
  void bar(const Row &row, double share, const std::string &value, const char *colour) {
    content += fmt::format("<text x='{}' y='{}' text-anchor='end'>{} {}</text>\n"
                           "<rect x='{}' y='{}' width='{:.1f}' height='12' fill='{}'/>\n"
                           "<text x='{:.1f}' y='{}'>{}</text>\n",
                           left - 6, height + 10, row.work, row.impl, left, height, share * width,
                           colour, left + share * width + 4, height + 10, value);
    height += rowHeight;
  }
  /// Marks the target of the bars from `top` to `bottom`.
  void mark(double share, int top, int bottom) {
    const double x = left + share * width;
    content += fmt::format("<line x1='{:.1f}' x2='{:.1f}' y1='{}' y2='{}' stroke='#c53030'/>\n", x,
                           x, top, bottom);
  }

  std::string content;
  int height = 0;
};

void drawShares(const std::vector<Row> &rows, Chart &chart) {
  constexpr double most = 1.2;
  chart.heading("share of the memory limit (1 = limit)");
  const int top = chart.height - 8;
  for (const Row &row : rows)
    if (row.ratioToLimit && row.impl != "limit")
      chart.bar(row, std::min(*row.ratioToLimit, most) / most,
                fmt::format("{:.2f}", *row.ratioToLimit),
                row.impl == "updraft" ? "#2b6cb0" : "#a0aec0");
  chart.mark(1 / most, top, chart.height);
}

/// The last column of the Python works, on a logarithmic scale.
void drawSpeedUps(const std::vector<Row> &rows, Chart &chart) {
  auto isDrawn = [](const Row &row) { return row.figure && row.figure->is == timesUpdraft; };
  if (std::none_of(rows.begin(), rows.end(), isDrawn))
    return;
  constexpr double most = 512;
  auto share = [&](double speedUp) {
    return std::log(std::clamp(speedUp, 1.0, most)) / std::log(most);
  };
  chart.heading("times as long as updraft, logarithmic (red: required)");
  for (const Row &row : rows) {
    if (!isDrawn(row))
      continue;
    const int top = chart.height - 2;
    chart.bar(row, share(row.figure->value), fmt::format("{:.3g}", row.figure->value), "#a0aec0");
    if (row.figure->bound)
      chart.mark(share(*row.figure->bound), top, top + 16);
  }
}
} // namespace

void updraft::bench::writeSvg(const std::vector<Row> &rows, const std::string &path) {
  Chart chart;
  drawShares(rows, chart);
  drawSpeedUps(rows, chart);
  write(path, fmt::format("<svg xmlns='http://www.w3.org/2000/svg' width='{}' height='{}' "
                          "font-family='sans-serif' font-size='11'>\n"
                          "<rect width='100%' height='100%' fill='white'/>\n{}</svg>\n",
                          Chart::left + Chart::width + 50, chart.height + 10, chart.content));
}
