//===- DiskCache.cpp - Compiled rules kept between processes ----------------------------------===//
// An entry is a file KEY.upc: a fixed header, the interface's JSON, the object. The header's
// checksum covers both, so that a torn or altered file is recompiled instead of run.

#include "updraft/Driver/DiskCache.h"

#include "updraft/Driver/StatusError.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace updraft;
using files::CodeFolder;
using files::IfMissing;
namespace path = llvm::sys::path;

namespace {
constexpr llvm::StringLiteral entryMagic = "updcach1";
constexpr llvm::StringLiteral entrySuffix = ".upc";
constexpr llvm::StringLiteral kernelSuffix = ".cubin"; // of runtime/cuda/CubinCache.cpp
constexpr size_t checksumBytes = 32;
// Magic, checksum, length of the interface, length of the object.
constexpr size_t headerBytes = entryMagic.size() + checksumBytes + 8 + 8;

/// Over the key too, so that an entry under another's name is as damaged as any.
std::array<uint8_t, checksumBytes> checksum(llvm::StringRef key, llvm::StringRef interfaceJson,
                                            llvm::StringRef object) {
  llvm::SHA256 hash;
  hash.update(key);
  hash.update(interfaceJson);
  hash.update(object);
  return hash.final();
}

std::string encode(llvm::StringRef key, const CompiledRule &rule) {
  std::string bytes(headerBytes, '\0');
  char *out = llvm::copy(entryMagic, bytes.begin()).base();
  out = llvm::copy(checksum(key, rule.interfaceJson, rule.object), out);
  llvm::support::endian::write64le(out, rule.interfaceJson.size());
  llvm::support::endian::write64le(out + 8, rule.object.size());
  return bytes + rule.interfaceJson + rule.object;
}

std::optional<CompiledRule> decode(llvm::StringRef key, llvm::StringRef bytes) {
  if (bytes.size() < headerBytes || !bytes.starts_with(entryMagic))
    return std::nullopt;
  const char *in = bytes.data() + entryMagic.size();
  llvm::StringRef expected(in, checksumBytes);
  uint64_t interfaceSize = llvm::support::endian::read64le(in + checksumBytes);
  uint64_t objectSize = llvm::support::endian::read64le(in + checksumBytes + 8);
  llvm::StringRef payload = bytes.drop_front(headerBytes);
  if (interfaceSize > payload.size() || objectSize != payload.size() - interfaceSize)
    return std::nullopt;
  llvm::StringRef interfaceJson = payload.take_front(interfaceSize);
  llvm::StringRef object = payload.drop_front(interfaceSize);
  if (llvm::toStringRef(checksum(key, interfaceJson, object)) != expected)
    return std::nullopt;
  return CompiledRule{interfaceJson.str(), object.str()};
}

std::string ruleNameOf(llvm::StringRef key, const std::optional<std::string> &bytes) {
  if (bytes)
    if (std::optional<CompiledRule> rule = decode(key, *bytes)) {
      auto json = nlohmann::json::parse(rule->interfaceJson, nullptr, /*allow_exceptions=*/false);
      if (json.is_object() && json.contains("name") && json["name"].is_string())
        return json["name"].get<std::string>();
    }
  return "?";
}

std::string nameOf(llvm::StringRef key) { return (key + entrySuffix).str(); }

/// Seconds since 1970.
int64_t lastUsed(const CodeFolder::File &file) { return file.lastUsed / 1'000'000'000; }
} // namespace

/// What is in an open folder, of one kind.
struct DiskCache::Listing {
  CodeFolder folder;
  std::string path;
  std::vector<CodeFolder::File> files;
};

DiskCache::DiskCache(std::string folder, uint64_t maxBytes)
    : folder(std::move(folder)), maxBytes(maxBytes) {}

DiskCache DiskCache::fromEnvironment() {
  uint64_t mebibytes = 256;
  if (auto text = llvm::sys::Process::GetEnv("UPDRAFT_CACHE_MIB"))
    llvm::StringRef(*text).getAsInteger(10, mebibytes);
  uint64_t maxBytes = std::min<uint64_t>(mebibytes, UINT64_MAX >> 20) << 20;
  if (auto folder = llvm::sys::Process::GetEnv("UPDRAFT_CACHE_DIR"))
    return DiskCache(*folder, maxBytes);
  llvm::SmallString<128> folder;
  // A folder below the working directory is nobody's cache: it may have come with somebody's files.
  if (!path::cache_directory(folder) || !path::is_absolute(folder))
    return DiskCache();
  path::append(folder, "updraft");
  return DiskCache(folder.str().str(), maxBytes);
}

std::optional<CodeFolder> DiskCache::open(IfMissing ifMissing) const {
  std::string ignored; // whyUnused() says it
  return folder.empty() ? std::nullopt : CodeFolder::open(folder, ifMissing, ignored);
}

std::string DiskCache::whyUnused() const {
  std::string reason;
  for (const std::string &place : {folder, getKernelFolder()})
    if (!place.empty() && reason.empty())
      CodeFolder::open(place, IfMissing::Fail, reason);
  return reason;
}

std::optional<CompiledRule> DiskCache::lookup(llvm::StringRef key) const {
  std::optional<CodeFolder> files = open(IfMissing::Fail);
  if (!files)
    return std::nullopt;
  const std::string name = nameOf(key);
  std::optional<std::string> bytes = files->read(name, maxBytes);
  if (!bytes)
    return std::nullopt;
  std::optional<CompiledRule> rule = decode(key, *bytes);
  if (rule)
    files->touch(name);
  else
    files->remove(name);
  return rule;
}

void DiskCache::store(llvm::StringRef key, const CompiledRule &rule) const {
  std::string bytes = encode(key, rule);
  if (bytes.size() > maxBytes)
    return;
  if (std::optional<CodeFolder> files = open(IfMissing::Create)) {
    files->write(nameOf(key), bytes);
    files->evict(entrySuffix, maxBytes);
  }
}

/// The entries, then those of kernels.
llvm::Expected<std::vector<DiskCache::Listing>> DiskCache::list() const {
  std::vector<Listing> listings;
  const std::pair<std::string, llvm::StringRef> folders[] = {{folder, entrySuffix},
                                                             {getKernelFolder(), kernelSuffix}};
  for (const auto &[path, suffix] : folders) {
    if (path.empty())
      continue;
    std::string ignored; // whyUnused() says it
    auto opened = CodeFolder::open(path, IfMissing::Fail, ignored);
    if (!opened)
      continue;
    int error = 0;
    std::vector<CodeFolder::File> files = opened->files(suffix, &error);
    if (error != 0)
      return makeError(UPD_IO_ERROR, "cannot read the cache folder `" + path +
                                         "`: " + llvm::sys::StrError(error));
    listings.push_back({std::move(*opened), path, std::move(files)});
  }
  return listings;
}

llvm::Expected<std::vector<DiskCache::Entry>> DiskCache::entries() const {
  auto listings = list();
  if (!listings)
    return listings.takeError();
  std::vector<Entry> result;
  for (const Listing &listing : *listings)
    for (const CodeFolder::File &file : listing.files) {
      std::string key = llvm::sys::path::stem(file.name).str();
      std::string rule = llvm::StringRef(file.name).ends_with(kernelSuffix)
                             ? "kernels"
                             : ruleNameOf(key, listing.folder.read(file.name, maxBytes));
      result.push_back({std::move(key), std::move(rule), file.bytes, lastUsed(file)});
    }
  return result;
}

llvm::Expected<unsigned> DiskCache::clear() const {
  if (std::string reason = whyUnused(); !reason.empty())
    return makeError(UPD_IO_ERROR, "the cache folder `" + folder + "` is not used: " + reason);
  auto listings = list();
  if (!listings)
    return listings.takeError();
  unsigned removed = 0;
  for (const Listing &listing : *listings)
    for (const CodeFolder::File &file : listing.files) {
      if (int error = listing.folder.remove(file.name))
        return makeError(UPD_IO_ERROR, "cannot remove `" + listing.path + "/" + file.name +
                                           "`: " + llvm::sys::StrError(error));
      ++removed;
    }
  return removed;
}
