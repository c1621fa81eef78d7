//===- Report.cpp - Rows as table, JSON and picture -------------------------------------------===//

#include "Report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <stdexcept>

using namespace updraft::bench;

void updraft::bench::printHeading() {
  fmt::print("{:<33} {:<17} {:<9} {:>11} {:>11} {:>9}\n", "work", "impl", "dtype", "min ms",
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
  std::string line = fmt::format("{:<33} {:<17} {:<9} {:>11.4f} {:>11.4f} {:>9}", row.work,
                                 row.impl, row.dtype, row.minMs, row.medianMs,
                                 row.ratioToLimit ? fmt::format("{:.3f}", *row.ratioToLimit) : "");
  if (row.figure)
    line += "  " + textOf(*row.figure);
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

static void writeFile(const std::string &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw std::runtime_error(fmt::format("cannot write `{}`", path));
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
  writeFile(path, json.dump(2) + "\n");
}

void updraft::bench::writeSvg(const std::vector<Row> &rows, const std::string &path) {
  constexpr int rowHeight = 18, left = 260, width = 420;
  std::string bars;
  int y = 30;
  for (const Row &row : rows) {
    if (!row.ratioToLimit || row.impl == "limit")
      continue;
    double share = std::min(*row.ratioToLimit, 1.2);
    const char *colour = row.impl == "updraft" ? "#2b6cb0" : "#a0aec0";
    bars += fmt::format("<text x='{}' y='{}' text-anchor='end'>{} {}</text>\n"
                        "<rect x='{}' y='{}' width='{:.1f}' height='12' fill='{}'/>\n"
                        "<text x='{:.1f}' y='{}'>{:.2f}</text>\n",
                        left - 6, y + 10, row.work, row.impl, left, y, share * width / 1.2, colour,
                        left + share * width / 1.2 + 4, y + 10, *row.ratioToLimit);
    y += rowHeight;
  }
  double limitX = left + width / 1.2;
  writeFile(path, fmt::format(
                      "<svg xmlns='http://www.w3.org/2000/svg' width='{}' height='{}' "
                      "font-family='sans-serif' font-size='11'>\n"
                      "<text x='{}' y='16'>share of the memory limit (1 = limit)</text>\n{}"
                      "<line x1='{:.1f}' x2='{:.1f}' y1='22' y2='{}' stroke='#c53030'/>\n</svg>\n",
                      left + width + 40, y + 10, left, bars, limitX, limitX, y));
}
