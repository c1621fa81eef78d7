//===- FuzzerMain.cpp - The main function of a fuzz target ------------------------------------===//
// One executable for each target, UPDRAFT_FUZZ_TARGET. `--write-seeds FOLDER DICTIONARY` writes its
// seeds and dictionary, and exits.

#include "FuzzTarget.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace updraft::fuzz;

static const FuzzTarget &target = UPDRAFT_FUZZ_TARGET;

/// In the format of libFuzzer's dictionaries.
static std::string quoted(const std::string &word) {
  std::string text = "\"";
  for (const unsigned char byte : word) {
    char escape[5];
    std::snprintf(escape, sizeof(escape), "\\x%02x", byte);
    text += byte == '"' || byte == '\\' || byte < ' ' || byte > '~'
                ? std::string(escape)
                : std::string(1, static_cast<char>(byte));
  }
  return text + "\"\n";
}

static void write(const std::filesystem::path &path, const std::string &bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream << bytes;
  if (!stream.flush()) {
    std::fprintf(stderr, "error: cannot write `%s`\n", path.c_str());
    std::exit(2);
  }
}

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  if (*argc != 4 || std::strcmp((*argv)[1], "--write-seeds") != 0)
    return 0;
  const std::filesystem::path folder = (*argv)[2];
  for (const Seed &seed : corpusOf(target))
    write(folder / seed.name, seed.bytes);
  if (target.seeds)
    for (const Seed &seed : target.seeds())
      write(folder / seed.name, seed.bytes);
  std::string dictionary;
  if (target.words)
    for (const std::string &word : target.words())
      dictionary += quoted(word);
  write((*argv)[3], dictionary);
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  target.run({reinterpret_cast<const char *>(data), size});
  return 0;
}
