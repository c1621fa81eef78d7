//===- replay-steps.cpp - Repeats the recorded steps of a folder ------------------------------===//
// usage: replay-steps FOLDER [TARGET]
// Exit code: 0 all results are the same, 1 some differ or there are none, 2 wrong usage.

#include "Replay.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <vector>

using namespace updraft::replay;

int main(int argc, char **argv) {
  if (argc != 2 && argc != 3) {
    fmt::print(stderr, "usage: replay-steps FOLDER [TARGET]\n");
    return 2;
  }
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(argv[1], error))
    if (entry.path().extension() == ".safetensors")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  Compared compared;
  size_t failed = 0;
  for (const std::filesystem::path &path : paths) {
    const std::string difference = replay(path, argc == 3 ? argv[2] : "", compared);
    if (difference.empty())
      continue;
    fmt::print("{}: {}\n", path.string(), difference);
    ++failed;
  }
  fmt::print("{} recordings: {} failed; {} samples and {} elements of {} tensors compared\n",
             paths.size(), failed, compared.samples, compared.elements, compared.tensors);
  return failed == 0 && !paths.empty() ? 0 : 1;
}
