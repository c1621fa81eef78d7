//===- CubinCache.cpp - Machine code for GPUs kept between processes --------------------------===//
// A file is a magic, a checksum over what follows, the length of the source, the source, the cubin.
// The source is compared, so that a file's name need only be unlikely to be another's.

#include "runtime/cuda/CubinCache.h"

#include <cstring>
#include <fmt/format.h>
#include <string_view>

using namespace updraft::cuda;
using updraft::files::CodeFolder;
using updraft::files::IfMissing;

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
} // namespace

std::string CubinCache::nameOf(const std::string &source) {
  const auto hash = hashOf(source);
  return fmt::format("{:016x}{:016x}{}", static_cast<uint64_t>(hash >> 64),
                     static_cast<uint64_t>(hash), suffix);
}

std::optional<CodeFolder> CubinCache::open(IfMissing ifMissing) const {
  std::string ignored; // `updraftc cache list` says why a folder is not used
  return folder.empty() ? std::nullopt : CodeFolder::open(folder, ifMissing, ignored);
}

std::optional<std::string> CubinCache::lookup(const std::string &source) const {
  const std::optional<CodeFolder> files = open(IfMissing::Fail);
  if (!files)
    return std::nullopt;
  const std::string name = nameOf(source);
  const std::optional<std::string> bytes = files->read(name, maxBytes);
  if (!bytes)
    return std::nullopt;
  std::optional<std::string> cubin = decode(source, *bytes);
  if (cubin)
    files->touch(name);
  else
    files->remove(name);
  return cubin;
}

void CubinCache::store(const std::string &source, const std::string &cubin) const {
  const std::string bytes = encode(source, cubin);
  if (bytes.size() > maxBytes)
    return;
  if (const std::optional<CodeFolder> files = open(IfMissing::Create)) {
    files->write(nameOf(source), bytes);
    files->evict(suffix, maxBytes);
  }
}
