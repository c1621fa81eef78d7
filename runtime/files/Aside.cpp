//===- Aside.cpp - Files that are complete before they get their name -------------------------===//

#include "runtime/files/Aside.h"

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

// Doesn't contain the file's own name, which may have the maximum length already.
static constexpr std::string_view prefix = ".updraft-", suffix = ".tmp";

int updraft::files::createAside(int base, const std::string &parent, mode_t mode,
                                std::string &path) {
  static std::atomic<unsigned> counter = 0;
  int descriptor;
  // A killed process may have left a file with the same process id.
  do {
    std::string name(prefix);
    name += std::to_string(::getpid()) + "-" + std::to_string(counter.fetch_add(1));
    path = std::filesystem::path(parent) / name.append(suffix);
    descriptor = ::openat(base, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EEXIST);
  return descriptor;
}

bool updraft::files::isAsideName(std::string_view name) {
  return name.starts_with(prefix) && name.ends_with(suffix);
}
