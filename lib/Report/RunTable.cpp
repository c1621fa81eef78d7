//===- RunTable.cpp - The probes of a run, from CSV -------------------------------------------===//

#include "RunTable.h"

#include "updraft/Driver/StatusError.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

using namespace updraft;
using llvm::StringRef;

namespace {

/// The most bytes of a field that a message quotes.
constexpr size_t mostQuoted = 60;

std::optional<double> parseNumber(StringRef text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), number);
  if (end != text.end() || error == std::errc::invalid_argument)
    return std::nullopt;
  if (error == std::errc::result_out_of_range)
    return std::strtod(text.str().c_str(), nullptr); // infinite, or near 0
  return number;
}

struct Bucket {
  StringRef name;
  double start, end;
};

/// Reads `sizes[0.01..1)`, the name of the column of a bucket.
std::optional<Bucket> parseBucket(StringRef text) {
  if (!text.consume_back(")") && !text.consume_back("]"))
    return std::nullopt;
  const auto [name, range] = text.rsplit('[');
  const auto [start, end] = range.split("..");
  const auto from = parseNumber(start), to = parseNumber(end);
  if (name.empty() || !from || !to)
    return std::nullopt;
  return Bucket{name, *from, *to};
}

class Reader {
public:
  explicit Reader(const RunFile &file) : file(file), left(file.text) {
    left.consume_front("\xef\xbb\xbf");
    lineStart = left.begin();
  }

  llvm::Expected<RunTable> read() {
    table.name = file.name;
    if (llvm::Error error = readNames())
      return error;
    while (!left.empty())
      if (llvm::Error error = readRow())
        return error;
    return std::move(table);
  }

private:
  struct Field {
    std::string text;
    size_t line, column;
  };

  llvm::Error fail(size_t line, size_t column, const std::string &message) const {
    return makeError(UPD_INVALID_ARGUMENT, file.name + ":" + std::to_string(line) + ":" +
                                               std::to_string(column) + ": " + message);
  }
  llvm::Error fail(const Field &field, const std::string &expected, const std::string &hint) const {
    const bool isLong = field.text.size() > mostQuoted;
    return fail(field.line, field.column,
                "expected " + expected + ", found `" + field.text.substr(0, mostQuoted) +
                    (isLong ? "…" : "") + "`; " + hint);
  }

  void nextLine() {
    ++line;
    lineStart = left.begin();
  }

  /// Reads the fields up to the end of a line, which quoted fields may contain.
  llvm::Error readFields() {
    fields.clear();
    while (true) {
      Field &field = fields.emplace_back(Field{"", line, size_t(left.begin() - lineStart) + 1});
      if (left.consume_front("\"")) {
        if (llvm::Error error = readQuoted(field))
          return error;
      } else {
        field.text = left.take_until([](char c) { return c == ',' || c == '\n' || c == '\r'; });
        left = left.drop_front(field.text.size());
      }
      if (left.consume_front(","))
        continue;
      const bool isEnd = left.empty() || left.consume_front("\r\n") || left.consume_front("\n");
      if (!isEnd)
        return fail(line, size_t(left.begin() - lineStart) + 1,
                    "expected `,` or the end of the line after a field; a field with quotes is in "
                    "quotes as a whole");
      nextLine();
      return llvm::Error::success();
    }
  }

  llvm::Error readQuoted(Field &field) {
    while (!left.empty()) {
      const char c = left.front();
      left = left.drop_front();
      if (c == '"' && !left.consume_front("\""))
        return llvm::Error::success();
      field.text += c;
      if (c == '\n')
        nextLine();
    }
    return fail(field.line, field.column, "a quoted field isn't closed; the file may be truncated");
  }

  llvm::Error readNames() {
    if (llvm::Error error = readFields())
      return error;
    const std::string hint = "give a file that `updraft-run --probe-out` or "
                             "`updraft.probes.CsvWriter` wrote";
    constexpr StringRef first[] = {"step", "parameter"};
    for (const auto &[index, name] : llvm::enumerate(first))
      if (index >= fields.size() || fields[index].text != name)
        return fail(index < fields.size() ? fields[index] : fields.back(),
                    "`step,parameter,PROBE,…`", hint);
    if (fields.size() == 2)
      return fail(fields.back(), "a probe after this column", hint);
    table.columns = fields.size() - 2;
    llvm::StringSet<> seen;
    bool isOpen = false; // whether the last bucket of a histogram is still to come
    double end = 0;
    for (size_t i = 2; i < fields.size(); ++i) {
      const Field &field = fields[i];
      const std::optional<Bucket> bucket = parseBucket(field.text);
      const bool continues = isOpen && bucket && bucket->name == table.probes.back().name &&
                             bucket->start == end && bucket->end > end;
      if ((isOpen && !continues) ||
          (bucket && !isOpen && (!std::isinf(bucket->start) || !std::isfinite(bucket->end))))
        return fail(field, "the next bucket of a histogram",
                    "a histogram has columns such as "
                    "`n[-inf..0)`, `n[0..inf]`");
      if (!continues) {
        const std::string name = bucket ? bucket->name.str() : field.text;
        if (name.empty() || !seen.insert(name).second)
          return fail(field, "another name of a probe", "each column has its own");
        table.probes.push_back({name, {}, i - 2});
      }
      if (!bucket)
        continue;
      end = bucket->end;
      isOpen = std::isfinite(end);
      if (isOpen)
        table.probes.back().bounds.push_back(end);
    }
    if (isOpen)
      return fail(fields.back(), "the last bucket of the histogram after this column",
                  "it ends at `inf]`");
    return llvm::Error::success();
  }

  llvm::Error readRow() {
    const size_t first = line;
    if (llvm::Error error = readFields())
      return error;
    if (fields.size() != table.columns + 2)
      return fail(first, 1,
                  "expected " + std::to_string(table.columns + 2) + " fields, found " +
                      std::to_string(fields.size()) +
                      "; each line has as many as the first, so the file may be truncated");
    RunTable::Row row{};
    if (StringRef(fields[0].text).getAsInteger(10, row.step) || row.step < 0)
      return fail(fields[0], "the number of a step", "each line starts with one");
    const auto [known, isNew] = numbers.try_emplace(fields[1].text, table.parameters.size());
    if (isNew)
      table.parameters.push_back(fields[1].text);
    row.parameter = known->second;
    for (const Field &field : llvm::ArrayRef(fields).drop_front(2)) {
      const std::optional<double> number = parseNumber(field.text);
      if (!number)
        return fail(field, "a number", "probes are written like `0.5`, `1e-08`, `inf` or `nan`");
      table.values.push_back(*number);
    }
    table.rows.push_back(row);
    return llvm::Error::success();
  }

  const RunFile &file;
  StringRef left;
  const char *lineStart;
  size_t line = 1;
  std::vector<Field> fields;
  llvm::StringMap<uint32_t> numbers;
  RunTable table;
};

} // namespace

llvm::Expected<RunTable> updraft::readRunTable(const RunFile &file) { return Reader(file).read(); }
