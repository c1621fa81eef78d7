//===- ImportedNames.cpp - The imports in a rule's text ---------------------------------------===//

#include "runtime/dist/ImportedNames.h"

#include <algorithm>
#include <cctype>

using namespace updraft;

static bool isOfName(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Returns the string that begins with the quote at `at`, and moves `at` past it. A string ends at
/// the end of its line.
static std::string takeString(std::string_view text, size_t &at) {
  std::string value;
  for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at) {
    if (text[at] == '\\' && at + 1 < text.size() && text[at + 1] != '\n')
      ++at;
    value += text[at];
  }
  at = std::min(at + 1, text.size());
  return value;
}

std::vector<std::string> dist::importedNames(std::string_view text) {
  std::vector<std::string> names;
  bool isImport = false; // whether the last word was `import`
  for (size_t at = 0; at < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
    } else if (text.substr(at).starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (text[at] == '"') {
      std::string value = takeString(text, at);
      if (isImport)
        names.push_back(std::move(value));
      isImport = false;
    } else {
      const size_t begin = at++;
      while (isOfName(text[begin]) && at < text.size() && isOfName(text[at]))
        ++at;
      isImport = text.substr(begin, at - begin) == "import";
    }
  }
  return names;
}
