//===- CodeCache.cpp - Machine code kept between processes ------------------------------------===//
// A file contains a magic number, a checksum of the rest, the length of the key, the key, and the
// code.

#include "runtime/files/CodeCache.h"

#include <cstring>

using namespace updraft::files;

namespace {
constexpr std::string_view magic = "updcode1";
constexpr size_t checksumBytes = 16;
constexpr size_t headerBytes = magic.size() + checksumBytes + sizeof(uint64_t);

/// 128-bit FNV-1a. It detects damage; CodeFolder prevents writes by others.
unsigned __int128 hashOf(std::string_view bytes) {
  constexpr auto prime = (static_cast<unsigned __int128>(1) << 88) + 0x13b;
  auto hash = (static_cast<unsigned __int128>(0x6c62272e07bb0142) << 64) + 0x62b821756295c58d;
  for (const char byte : bytes)
    hash = (hash ^ static_cast<unsigned char>(byte)) * prime;
  return hash;
}

std::string encode(std::string_view key, std::string_view code) {
  std::string bytes(headerBytes, '\0');
  bytes.reserve(headerBytes + key.size() + code.size());
  bytes.append(key).append(code);
  const uint64_t length = key.size();
  std::memcpy(bytes.data(), magic.data(), magic.size());
  std::memcpy(&bytes[magic.size() + checksumBytes], &length, sizeof(length));
  const auto checksum = hashOf(std::string_view(bytes).substr(magic.size() + checksumBytes));
  std::memcpy(&bytes[magic.size()], &checksum, checksumBytes);
  return bytes;
}

std::optional<CodeCache::Entry> decode(std::string_view bytes) {
  if (bytes.size() < headerBytes || !bytes.starts_with(magic))
    return std::nullopt;
  const auto checksum = hashOf(bytes.substr(magic.size() + checksumBytes));
  if (std::memcmp(&checksum, &bytes[magic.size()], checksumBytes) != 0)
    return std::nullopt;
  uint64_t length;
  std::memcpy(&length, &bytes[magic.size() + checksumBytes], sizeof(length));
  const std::string_view payload = bytes.substr(headerBytes);
  if (length > payload.size())
    return std::nullopt;
  return CodeCache::Entry{std::string(payload.substr(0, length)),
                          std::string(payload.substr(length))};
}
} // namespace

std::string CodeCache::nameOf(std::string_view key) const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string name;
  auto hash = hashOf(key);
  for (size_t i = 0; i < 32; ++i, hash <<= 4)
    name += digits[static_cast<size_t>(hash >> 124)];
  return name + suffix;
}

std::optional<CodeFolder> CodeCache::open(IfMissing ifMissing, std::string &reason) const {
  return path.empty() ? std::nullopt : CodeFolder::open(path, ifMissing, reason);
}

std::optional<CodeCache::Entry> CodeCache::read(const CodeFolder &folder,
                                                const std::string &name) const {
  const std::optional<std::string> bytes = folder.read(name, maxBytes);
  return bytes ? decode(*bytes) : std::nullopt;
}

std::optional<std::string> CodeCache::lookup(std::string_view key) const {
  std::string ignored; // `updraftc cache list` prints it
  const std::optional<CodeFolder> folder = open(IfMissing::Fail, ignored);
  if (!folder)
    return std::nullopt;
  const std::string name = nameOf(key);
  const std::optional<std::string> bytes = folder->read(name, maxBytes);
  if (!bytes)
    return std::nullopt;
  std::optional<Entry> entry = decode(*bytes);
  if (!entry || entry->key != key) {
    folder->remove(name);
    return std::nullopt;
  }
  folder->touch(name);
  return std::move(entry->code);
}

void CodeCache::store(std::string_view key, std::string_view code) const {
  if (headerBytes + key.size() + code.size() > maxBytes)
    return;
  std::string ignored; // `updraftc cache list` prints it
  if (const std::optional<CodeFolder> folder = open(IfMissing::Create, ignored)) {
    folder->write(nameOf(key), encode(key, code));
    folder->evict(suffix, maxBytes);
  }
}
