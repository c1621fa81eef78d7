//===- CacheLocation.cpp - Where compiled code is kept by default -----------------------------===//

#include "runtime/files/CacheLocation.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <pwd.h>
#include <unistd.h>
#include <vector>

using updraft::files::CacheLocation;

static std::string homeFolder() {
  if (const char *home = std::getenv("HOME"))
    return home;
  std::vector<char> buffer(1 << 14);
  passwd entry;
  passwd *found = nullptr;
  if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found)
    return found->pw_dir;
  return "";
}

CacheLocation CacheLocation::fromEnvironment() {
  uint64_t mebibytes = 256;
  if (const char *text = std::getenv("UPDRAFT_CACHE_MIB")) {
    uint64_t value = 0;
    const char *end = text + std::strlen(text);
    const auto parsed = std::from_chars(text, end, value);
    if (parsed.ec == std::errc() && parsed.ptr == end)
      mebibytes = value;
  }
  const uint64_t maxBytes = std::min<uint64_t>(mebibytes, UINT64_MAX >> 20) << 20;
  if (const char *folder = std::getenv("UPDRAFT_CACHE_DIR"))
    return {folder, maxBytes};
  const char *caches = std::getenv("XDG_CACHE_HOME");
  const std::string parent = caches ? caches : homeFolder() + "/.cache";
  // Don't use a folder below the working directory: it may have come with someone else's files.
  if (!parent.starts_with('/'))
    return {};
  return {parent + (parent.ends_with('/') ? "updraft" : "/updraft"), maxBytes};
}
