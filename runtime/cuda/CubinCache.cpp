//===- CubinCache.cpp - Machine code for GPUs kept between processes --------------------------===//
// A file is a magic, a checksum over what follows, the length of the source, the source, the cubin.
// The source is compared, so that a file's name need only be unlikely to be another's.

#include "runtime/cuda/CubinCache.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace updraft::cuda;
namespace fs = std::filesystem;

namespace {
constexpr std::string_view magic = "updcubn1";
constexpr std::string_view suffix = ".cubin";
constexpr size_t checksumBytes = 16;
constexpr size_t headerBytes = magic.size() + checksumBytes + sizeof(uint64_t);

/// FNV-1a.
unsigned __int128 hashOf(std::string_view bytes) {
  constexpr auto prime = (static_cast<unsigned __int128>(1) << 88) + 0x13b;
  auto hash = (static_cast<unsigned __int128>(0x6c62272e07bb0142) << 64) + 0x62b821756295c58d;
  for (const char byte : bytes)
    hash = (hash ^ static_cast<unsigned char>(byte)) * prime;
  return hash;
}

std::string encode(const std::string &source, const std::string &cubin) {
  const uint64_t length = source.size();
  std::string covered(reinterpret_cast<const char *>(&length), sizeof(length));
  covered += source;
  covered += cubin;
  const auto checksum = hashOf(covered);
  return std::string(magic) +
         std::string(reinterpret_cast<const char *>(&checksum), checksumBytes) + covered;
}

std::optional<std::string> decode(const std::string &source, std::string_view bytes) {
  if (bytes.size() < headerBytes || bytes.substr(0, magic.size()) != magic)
    return std::nullopt;
  const std::string_view covered = bytes.substr(magic.size() + checksumBytes);
  const auto checksum = hashOf(covered);
  if (std::memcmp(&checksum, bytes.data() + magic.size(), checksumBytes) != 0)
    return std::nullopt;
  uint64_t length;
  std::memcpy(&length, covered.data(), sizeof(length));
  const std::string_view payload = covered.substr(sizeof(length));
  if (length != source.size() || payload.substr(0, length) != source)
    return std::nullopt;
  return std::string(payload.substr(length));
}

/// Nothing but a regular file, as opening a pipe would wait.
std::optional<std::string> readFile(const std::string &path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file)
    return std::nullopt;
  return bytes;
}

bool writeAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

struct StoredFile {
  fs::path path;
  uint64_t bytes;
  fs::file_time_type lastUsed;
};
} // namespace

std::string CubinCache::pathOf(const std::string &source) const {
  const auto hash = hashOf(source);
  return fmt::format("{}/{:016x}{:016x}{}", folder, static_cast<uint64_t>(hash >> 64),
                     static_cast<uint64_t>(hash), suffix);
}

// Files are run as code, so nobody else may be able to place one.
bool CubinCache::folderIsTrusted() const {
  struct stat status;
  return !folder.empty() && ::stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && !(status.st_mode & (S_IWGRP | S_IWOTH));
}

std::optional<std::string> CubinCache::lookup(const std::string &source) const {
  if (!folderIsTrusted())
    return std::nullopt;
  const std::string path = pathOf(source);
  const std::optional<std::string> bytes = readFile(path);
  if (!bytes)
    return std::nullopt;
  std::optional<std::string> cubin = decode(source, *bytes);
  // The modification time is the time of last use, which eviction goes by.
  if (cubin)
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  else
    ::unlink(path.c_str());
  return cubin;
}

void CubinCache::store(const std::string &source, const std::string &cubin) const {
  const std::string bytes = encode(source, cubin);
  if (folder.empty() || bytes.size() > maxBytes)
    return;
  std::error_code error;
  if (fs::create_directories(folder, error))
    fs::permissions(folder, fs::perms::owner_all, error);
  if (error || !folderIsTrusted())
    return;
  const std::string path = pathOf(source);
  std::string aside = path + ".XXXXXX";
  const int descriptor = ::mkostemp(aside.data(), O_CLOEXEC);
  if (descriptor < 0)
    return;
  const bool written = writeAll(descriptor, bytes);
  if (::close(descriptor) != 0 || !written || ::rename(aside.c_str(), path.c_str()) != 0)
    ::unlink(aside.c_str());
  evict();
}

void CubinCache::evict() const {
  std::error_code error, ignored;
  std::vector<StoredFile> files;
  // What processes that were killed while they wrote a file have left is of no use.
  const auto abandonedBefore = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code failure;
    const fs::path &path = it->path();
    const auto lastUsed = fs::last_write_time(path, failure);
    const bool isAside = path.stem().extension() == suffix;
    const uint64_t bytes = failure ? 0 : fs::file_size(path, failure);
    if (failure)
      continue;
    if (isAside && lastUsed < abandonedBefore)
      fs::remove(path, ignored);
    else if (path.extension() == suffix)
      files.push_back({path, bytes, lastUsed});
  }
  std::sort(files.begin(), files.end(),
            [](const StoredFile &a, const StoredFile &b) { return a.lastUsed > b.lastUsed; });
  uint64_t total = 0;
  for (const StoredFile &file : files) {
    total += file.bytes;
    if (total > maxBytes)
      fs::remove(file.path, ignored);
  }
}
