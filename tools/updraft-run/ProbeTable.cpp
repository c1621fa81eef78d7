//===- ProbeTable.cpp - The probes of all steps, as CSV ---------------------------------------===//

#include "ProbeTable.h"

#include "updraft/Optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace updraft;
using namespace updraft::run;
using updraft::runtime::RuleInterface;
using updraft::runtime::Status;

/// Quotes a field of CSV if it needs that (RFC 4180).
static std::string field(const std::string &text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos)
    return text;
  std::string quoted = "\"";
  for (char c : text)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

/// Returns the name of a probe's column: "ratio", or for a bucket of a histogram "sizes[0.01..1)".
static std::string columnOf(const RuleInterface &rule, size_t index) {
  const runtime::ProbeInterface &probe = rule.probes[index];
  if (!probe.end)
    return probe.name;
  const bool isFirst = index == 0 || rule.probes[index - 1].name != probe.name;
  return fmt::format("{}[{}..{}{}", probe.name,
                     isFirst ? -std::numeric_limits<double>::infinity()
                             : *rule.probes[index - 1].end,
                     *probe.end, std::isinf(*probe.end) ? ']' : ')');
}

Status ProbeTable::add(const RuleInterface &rule, const upd_optimizer *optimizer,
                       std::span<const std::string *const> names, uint64_t &cursor) {
  const size_t probes = rule.probes.size();
  if (probes == 0)
    return {};
  if (lines.empty()) {
    lines = "step,parameter";
    for (size_t i = 0; i < probes; ++i)
      lines += "," + columnOf(rule, i);
    lines += "\n";
  }
  const Result<ProbeRows> read = ProbeRows::read(optimizer, cursor);
  if (!read)
    return Status(read.error().code, read.error().message);
  for (size_t i = 0; i < read->rows.size(); ++i) {
    lines += fmt::format("{},{}", read->rows[i].step, field(*names[read->rows[i].param]));
    for (size_t j = 0; j < probes; ++j)
      lines += fmt::format(",{}", read->values[i * probes + j]);
    lines += "\n";
  }
  return {};
}
