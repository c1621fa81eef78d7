//===- SourceFiles.cpp - Seeds from the files of the source tree ------------------------------===//

#include "SourceFiles.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace updraft::fuzz;
namespace fs = std::filesystem;

static const fs::path root = UPDRAFT_SOURCE_DIR;

static bool endsIn(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

static std::string bytesOf(const fs::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

static int hexDigit(char c) {
  const size_t digit = std::string_view("0123456789abcdef").find(c);
  return digit == std::string_view::npos ? -1 : static_cast<int>(digit);
}

/// Converts `\xNN` to bytes. Line breaks aren't part of the input.
static std::string unescaped(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\\x" && i + 3 < text.size() && hexDigit(text[i + 2]) >= 0 &&
        hexDigit(text[i + 3]) >= 0) {
      bytes += static_cast<char>(hexDigit(text[i + 2]) * 16 + hexDigit(text[i + 3]));
      i += 3;
    } else if (text[i] != '\n') {
      bytes += text[i];
    }
  }
  return bytes;
}

std::vector<Seed> updraft::fuzz::filesBelow(std::string_view folder, std::string_view suffix) {
  std::vector<Seed> seeds;
  if (!fs::is_directory(root / folder))
    return seeds;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(root / folder)) {
    if (!entry.is_regular_file() || !endsIn(entry.path().string(), suffix))
      continue;
    std::string name = fs::relative(entry.path(), root).string();
    std::replace(name.begin(), name.end(), '/', '-');
    seeds.push_back({std::move(name), bytesOf(entry.path())});
  }
  std::sort(seeds.begin(), seeds.end(),
            [](const Seed &a, const Seed &b) { return a.name < b.name; });
  return seeds;
}

std::vector<Seed> updraft::fuzz::splitAt(std::string_view separator,
                                         const std::vector<Seed> &files) {
  const std::string line = "\n" + std::string(separator) + "\n";
  std::vector<Seed> parts;
  for (const Seed &file : files) {
    size_t begin = 0;
    for (int number = 1; begin != std::string::npos; ++number) {
      const size_t end = file.bytes.find(line, begin);
      parts.push_back(
          {file.name + "." + std::to_string(number), file.bytes.substr(begin, end - begin)});
      begin = end == std::string::npos ? end : end + line.size();
    }
  }
  return parts;
}

std::vector<Seed> updraft::fuzz::documentationExamples(std::string_view language) {
  const std::string start = "```" + std::string(language) + "\n";
  std::vector<Seed> examples;
  for (const Seed &page : filesBelow("docs", ".md")) {
    int number = 0;
    for (size_t at = page.bytes.find(start); at != std::string::npos;
         at = page.bytes.find(start, at)) {
      at += start.size();
      const size_t end = std::min(page.bytes.find("```", at), page.bytes.size());
      examples.push_back(
          {page.name + "." + std::to_string(++number), page.bytes.substr(at, end - at)});
      at = end;
    }
  }
  return examples;
}

std::vector<Seed> updraft::fuzz::corpusOf(const FuzzTarget &target) {
  std::vector<Seed> seeds = filesBelow(std::string("unittests/Fuzz/corpus/") + target.name, "");
  for (Seed &seed : seeds)
    if (endsIn(seed.name, ".escaped"))
      seed.bytes = unescaped(seed.bytes);
  return seeds;
}
