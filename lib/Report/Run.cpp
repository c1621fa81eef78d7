//===- Run.cpp - The steps of a run in a report -----------------------------------------------===//
// Adds the member `run` to a document (docs/report-format.md): the probes of one or more ranks,
// sampled if there are many, the rows with NaN, the steps that are missing, and where ranks differ.
// All of these but the samples are of all rows.

#include "Command.h"
#include "RunTable.h"

#include "updraft/Driver/StatusError.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace updraft;
using llvm::json::Array;
using llvm::json::Object;

namespace {

/// The most numbers and columns that a page shows, and the fewest columns if parameters are left
/// out instead.
constexpr size_t mostNumbers = 120'000, mostColumns = 240, fewestColumns = 12;
/// The most entries of a list.
constexpr size_t mostListed = 100;
/// Ranks differ if values differ by more than this, relative to the larger one.
constexpr double tolerance = 1e-6;

llvm::json::Value number(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
}

std::string textOf(double value) {
  return std::isnan(value) ? std::string("nan") : fmt::format("{:.4g}", value);
}

bool differ(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) != std::isnan(b);
  return a != b && !(std::fabs(a - b) <= tolerance * std::max(std::fabs(a), std::fabs(b)));
}

/// A row of a file, whose parameter is numbered over all files.
struct Place {
  int64_t step;
  uint32_t parameter;
  size_t row;
  auto key() const { return std::pair(step, parameter); }
};

struct Rank {
  const RunTable &table;
  std::vector<uint32_t> numbered; ///< the parameters of the file, over all files
  std::vector<Place> places;      ///< by step, then parameter; the last row of each
  std::vector<int64_t> steps;
};

class Run {
public:
  explicit Run(llvm::ArrayRef<RunTable> tables) : probes(tables.front().probes) {
    llvm::StringMap<uint32_t> numbers;
    for (const RunTable &table : tables) {
      std::vector<uint32_t> numbered;
      for (const std::string &name : table.parameters) {
        const auto [known, isNew] = numbers.try_emplace(name, parameters.size());
        if (isNew)
          parameters.push_back(name);
        numbered.push_back(known->second);
      }
      ranks.push_back({table, numbered, placesOf(table, numbered), {}});
      Rank &rank = ranks.back();
      for (const Place &place : rank.places)
        if (rank.steps.empty() || rank.steps.back() != place.step)
          rank.steps.push_back(place.step);
      std::vector<int64_t> all;
      std::set_union(steps.begin(), steps.end(), rank.steps.begin(), rank.steps.end(),
                     std::back_inserter(all));
      steps = std::move(all);
    }
    chooseColumns();
  }

  Object json() const {
    Array files, names, series, spans;
    for (const Rank &rank : ranks)
      files.push_back(
          Object{{"name", llvm::json::fixUTF8(rank.table.name)}, {"rows", rank.table.rows.size()}});
    for (size_t i = 0; i < shownParameters; ++i)
      names.push_back(llvm::json::fixUTF8(parameters[i]));
    for (const auto &[first, last] : columns)
      spans.push_back(Array{steps[first], steps[last]});
    for (const RunProbe &probe : probes)
      series.push_back(seriesOf(probe));
    return Object{{"files", std::move(files)},
                  {"parameters", std::move(names)},
                  {"parameterCount", parameters.size()},
                  {"stepCount", steps.size()},
                  {"columns", std::move(spans)},
                  {"probes", std::move(series)},
                  {"nan", nanRows()},
                  {"missing", missingSteps()},
                  {"tolerance", tolerance},
                  {"differences", differences()},
                  {"unmatched", unmatched()}};
  }

private:
  static std::vector<Place> placesOf(const RunTable &table, llvm::ArrayRef<uint32_t> numbered) {
    std::vector<Place> places;
    for (const auto &[index, row] : llvm::enumerate(table.rows))
      places.push_back({row.step, numbered[row.parameter], index});
    llvm::sort(places, [](const Place &a, const Place &b) {
      return std::pair(a.key(), a.row) < std::pair(b.key(), b.row);
    });
    // A rule that skips a step has the same step again; the last row of it counts.
    std::vector<Place> last;
    for (const Place &place : places)
      if (!last.empty() && last.back().key() == place.key())
        last.back() = place;
      else
        last.push_back(place);
    return last;
  }

  void chooseColumns() {
    size_t perCell = 0;
    for (const RunProbe &probe : probes)
      perCell += probe.count();
    perCell *= ranks.size();
    shownParameters =
        std::clamp<size_t>(mostNumbers / (perCell * fewestColumns), 1, parameters.size() + 1);
    shownParameters = std::min(shownParameters, parameters.size());
    const size_t most = std::clamp<size_t>(
        mostNumbers / std::max<size_t>(perCell * shownParameters, 1), 1, mostColumns);
    const size_t perColumn = (steps.size() + most - 1) / most;
    for (size_t first = 0; first < steps.size(); first += perColumn)
      columns.emplace_back(first, std::min(first + perColumn, steps.size()) - 1);
  }

  Object seriesOf(const RunProbe &probe) const {
    Array bounds, files;
    for (double bound : probe.bounds)
      bounds.push_back(bound);
    for (const Rank &rank : ranks) {
      // The row whose value stands for each column of each parameter.
      std::vector<std::vector<std::optional<size_t>>> chosen(
          shownParameters, std::vector<std::optional<size_t>>(columns.size()));
      size_t column = 0;
      for (const Place &place : rank.places) {
        while (steps[columns[column].second] < place.step)
          ++column;
        if (place.parameter >= shownParameters)
          continue;
        std::optional<size_t> &row = chosen[place.parameter][column];
        if (!row || stands(probe, rank.table, place.row, *row))
          row = place.row;
      }
      const std::set<std::pair<uint32_t, size_t>> withNaN = cellsWithNaN(probe, rank);
      Array rows;
      for (const auto &[parameter, list] : llvm::enumerate(chosen))
        rows.push_back(cellsOf(probe, rank.table, list, [&](size_t at) {
          return withNaN.contains({uint32_t(parameter), at});
        }));
      files.push_back(std::move(rows));
    }
    Object series{{"name", llvm::json::fixUTF8(probe.name)}, {"values", std::move(files)}};
    if (!probe.bounds.empty())
      series["bounds"] = std::move(bounds);
    return series;
  }

  /// Whether a row stands for a column instead of an earlier one: the number of largest magnitude,
  /// or the last histogram.
  static bool stands(const RunProbe &probe, const RunTable &table, size_t row, size_t other) {
    const double mine = table.valuesOf(row)[probe.first], old = table.valuesOf(other)[probe.first];
    if (!probe.bounds.empty())
      return !std::isnan(mine) || std::isnan(old);
    return std::isnan(old) || std::fabs(mine) > std::fabs(old);
  }

  /// The parameters and columns in which a row has NaN, also if another row stands for the column.
  std::set<std::pair<uint32_t, size_t>> cellsWithNaN(const RunProbe &probe,
                                                     const Rank &rank) const {
    std::set<std::pair<uint32_t, size_t>> cells;
    for (const auto &[index, row] : llvm::enumerate(rank.table.rows)) {
      if (!std::isnan(rank.table.valuesOf(index)[probe.first]))
        continue;
      const auto column = llvm::partition_point(
          columns, [&](const auto &steps) { return this->steps[steps.second] < row.step; });
      cells.insert({rank.numbered[row.parameter], size_t(column - columns.begin())});
    }
    return cells;
  }

  template <typename HasNaN>
  static std::string cellsOf(const RunProbe &probe, const RunTable &table,
                             llvm::ArrayRef<std::optional<size_t>> rows, HasNaN hasNaN) {
    std::string text;
    for (const auto &[column, row] : llvm::enumerate(rows)) {
      if (!text.empty())
        text += ' ';
      if (!row) {
        text += '-';
        continue;
      }
      for (size_t i = 0; i < probe.count(); ++i)
        text += (i == 0 ? "" : ",") + textOf(table.valuesOf(*row)[probe.first + i]);
      if (hasNaN(column))
        text += '!';
    }
    return text;
  }

  /// The rows with NaN, also those that a later row of the same step replaces.
  Object nanRows() const {
    Array list;
    size_t count = 0;
    for (const auto &[file, rank] : llvm::enumerate(ranks)) {
      const RunTable &table = rank.table;
      for (const auto &[index, row] : llvm::enumerate(table.rows)) {
        const llvm::ArrayRef<double> values = table.valuesOf(index);
        Array names;
        for (const RunProbe &probe : probes)
          if (std::isnan(values[probe.first]))
            names.push_back(llvm::json::fixUTF8(probe.name));
        if (names.empty() || ++count > mostListed)
          continue;
        list.push_back(Object{{"file", file},
                              {"step", row.step},
                              {"parameter", llvm::json::fixUTF8(table.parameters[row.parameter])},
                              {"probes", std::move(names)}});
      }
    }
    return Object{{"count", count}, {"rows", std::move(list)}};
  }

  /// Gaps between steps that are longer than the gaps before and after them. A gap that is as long
  /// as one of these comes from a change of how often steps are probed.
  Object missingSteps() const {
    Array list;
    size_t count = 0;
    for (const auto &[file, rank] : llvm::enumerate(ranks))
      for (size_t i = 2; i + 1 < rank.steps.size(); ++i) {
        const int64_t gap = rank.steps[i] - rank.steps[i - 1];
        if (gap <= rank.steps[i - 1] - rank.steps[i - 2] ||
            gap <= rank.steps[i + 1] - rank.steps[i] || ++count > mostListed)
          continue;
        list.push_back(
            Object{{"file", file}, {"after", rank.steps[i - 1]}, {"before", rank.steps[i]}});
      }
    return Object{{"count", count}, {"gaps", std::move(list)}};
  }

  /// Calls `both` with the places that the first rank and `rank` have, and `one` with those that
  /// one of them has alone.
  template <typename Both, typename One> void compare(const Rank &rank, Both both, One one) const {
    auto mine = rank.places.begin(), first = ranks.front().places.begin();
    while (mine != rank.places.end() || first != ranks.front().places.end()) {
      if (first == ranks.front().places.end() ||
          (mine != rank.places.end() && mine->key() < first->key()))
        one(*mine++, /*isOfFirst=*/false);
      else if (mine == rank.places.end() || first->key() < mine->key())
        one(*first++, /*isOfFirst=*/true);
      else
        both(*mine++, *first++);
    }
  }

  Array differences() const {
    Array list;
    for (const auto &[file, rank] : llvm::drop_begin(llvm::enumerate(ranks)))
      for (const RunProbe &probe : probes) {
        size_t count = 0;
        Object found;
        compare(
            rank,
            [&](const Place &mine, const Place &first) {
              for (size_t i = probe.first; i < probe.first + probe.count(); ++i) {
                const double value = rank.table.valuesOf(mine.row)[i];
                const double other = ranks.front().table.valuesOf(first.row)[i];
                if (!differ(value, other))
                  continue;
                if (count++ == 0)
                  found = Object{{"step", mine.step},
                                 {"parameter", llvm::json::fixUTF8(parameters[mine.parameter])},
                                 {"bucket", i - probe.first},
                                 {"value", number(value)},
                                 {"first", number(other)}};
                break;
              }
            },
            [](const Place &, bool) {});
        if (count == 0)
          continue;
        found["file"] = file;
        found["probe"] = llvm::json::fixUTF8(probe.name);
        found["count"] = count;
        list.push_back(std::move(found));
      }
    return list;
  }

  /// By file: the rows that either it or the first file lacks.
  Array unmatched() const {
    Array list;
    for (const auto &[file, rank] : llvm::drop_begin(llvm::enumerate(ranks))) {
      size_t count = 0;
      Object found;
      compare(
          rank, [](const Place &, const Place &) {},
          [&](const Place &place, bool isOfFirst) {
            if (count++ == 0)
              found = Object{{"file", file},
                             {"step", place.step},
                             {"parameter", llvm::json::fixUTF8(parameters[place.parameter])},
                             {"lacks", isOfFirst ? file : 0}};
          });
      if (count == 0)
        continue;
      found["count"] = count;
      list.push_back(std::move(found));
    }
    return list;
  }

  const std::vector<RunProbe> &probes;
  std::vector<Rank> ranks;
  std::vector<std::string> parameters;
  std::vector<int64_t> steps; ///< of all files
  size_t shownParameters = 0;
  std::vector<std::pair<size_t, size_t>> columns; ///< the first and the last of `steps`
};

} // namespace

llvm::Expected<std::string> updraft::withRun(llvm::StringRef document,
                                             llvm::ArrayRef<RunFile> files) {
  if (files.empty())
    return makeError(UPD_INVALID_ARGUMENT, "a run has no files; give at least one");
  std::vector<RunTable> tables;
  for (const RunFile &file : files) {
    auto table = readRunTable(file);
    if (!table)
      return table.takeError();
    if (!tables.empty() && table->probes != tables.front().probes)
      return makeError(UPD_INVALID_ARGUMENT, file.name + ":1:1: other probes than in " +
                                                 tables.front().name +
                                                 "; give the files of one run");
    tables.push_back(std::move(*table));
  }
  auto value = llvm::json::parse(document);
  if (!value)
    return value.takeError();
  Object &report = *value->getAsObject();
  report["run"] = Run(tables).json();
  if (Object *request = report.getObject("request"))
    if (auto command = request->getString("command"))
      (*request)["command"] = llvm::json::fixUTF8(withRunFiles(*command, files));
  std::string text;
  llvm::raw_string_ostream(text) << *value;
  return text;
}
