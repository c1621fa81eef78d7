//===- MessageText.cpp - Numbers and names in messages ----------------------------------------===//

#include "runtime/base/MessageText.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

using namespace updraft::runtime;

std::string updraft::runtime::numberText(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos)
    text += ".0";
  return text;
}

std::string updraft::runtime::fillMessage(std::string_view message,
                                          const std::vector<std::string> &names,
                                          const double *values) {
  std::string result;
  for (size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    if ((c == '{' || c == '}') && i + 1 < message.size() && message[i + 1] == c) {
      result += c;
      ++i;
      continue;
    }
    if (c == '{') {
      const size_t end = message.find('}', i);
      if (end != std::string_view::npos) {
        auto found = std::find(names.begin(), names.end(), message.substr(i + 1, end - i - 1));
        if (found != names.end()) {
          result += numberText(values[found - names.begin()]);
          i = end;
          continue;
        }
      }
    }
    result += c;
  }
  return result;
}

/// The minimum number of insertions, deletions and replacements between the two.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

/// Whether the two differ by swapping two adjacent characters.
static bool isTransposed(std::string_view a, std::string_view b) {
  if (a.size() != b.size())
    return false;
  const size_t i =
      static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
  return i + 1 < a.size() && a[i] == b[i + 1] && a[i + 1] == b[i] &&
         a.substr(i + 2) == b.substr(i + 2);
}

std::string updraft::runtime::nameHint(std::string_view name,
                                       const std::vector<std::string> &known) {
  constexpr size_t maxLength = 64, maxListed = 16;
  const std::string *closest = nullptr;
  size_t least = std::max<size_t>(name.size() / 3, 1) + 1;
  for (const std::string &candidate : known) {
    if (name.size() > maxLength || candidate.size() > maxLength)
      continue;
    const size_t distance = isTransposed(name, candidate) ? 1 : editDistance(name, candidate);
    // A distance as long as the name isn't close.
    if (distance < least && distance < std::max(name.size(), candidate.size())) {
      least = distance;
      closest = &candidate;
    }
  }
  if (closest)
    return fmt::format("; did you mean `{}`?", *closest);
  if (known.empty() || known.size() > maxListed)
    return "";
  std::string list;
  for (const std::string &candidate : known)
    list += fmt::format("{}`{}`", list.empty() ? "" : ", ", candidate);
  return (known.size() == 1 ? "; there is " : "; there are ") + list;
}
