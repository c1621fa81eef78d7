//===- DiskCache.cpp - Compiled rules kept between processes ----------------------------------===//
// An entry is a file KEY.upc: a fixed header, the interface's JSON, the object. The header's
// checksum covers both, so that a torn or altered file is recompiled instead of run.

#include "updraft/Driver/DiskCache.h"

#include "updraft/Driver/StatusError.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace updraft;
namespace fs = llvm::sys::fs;
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

/// Only a regular file: a pipe or a device might never end.
llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> readEntry(llvm::StringRef file) {
  fs::file_status status;
  if (std::error_code error = fs::status(file, status))
    return error;
  if (!fs::is_regular_file(status))
    return std::make_error_code(std::errc::invalid_argument);
  return llvm::MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
}

std::string ruleNameOf(llvm::StringRef file) {
  auto buffer = readEntry(file);
  if (buffer)
    if (std::optional<CompiledRule> rule = decode(path::stem(file), (*buffer)->getBuffer())) {
      auto json = nlohmann::json::parse(rule->interfaceJson, nullptr, /*allow_exceptions=*/false);
      if (json.is_object() && json.contains("name") && json["name"].is_string())
        return json["name"].get<std::string>();
    }
  return "?";
}

struct StoredFile {
  std::string path;
  uint64_t bytes;
  llvm::sys::TimePoint<> lastUsed;
};

/// The files of a folder that end so, most recently used first.
std::vector<StoredFile> listFiles(llvm::StringRef folder, std::error_code &error,
                                  llvm::StringRef suffix = entrySuffix) {
  std::vector<StoredFile> files;
  for (fs::directory_iterator it(folder, error), end; it != end && !error; it.increment(error)) {
    if (path::extension(it->path()) != suffix)
      continue;
    fs::file_status status;
    if (!fs::status(it->path(), status))
      files.push_back({it->path(), status.getSize(), status.getLastModificationTime()});
  }
  llvm::sort(files,
             [](const StoredFile &a, const StoredFile &b) { return a.lastUsed > b.lastUsed; });
  return files;
}

/// Those of kernels; there may be no folder of them.
std::vector<StoredFile> listKernels(const std::string &folder, std::error_code &error) {
  if (error || !fs::exists(folder))
    return {};
  return listFiles(folder, error, kernelSuffix);
}

/// Removes what processes that were killed while they wrote an entry have left.
void removeAbandoned(llvm::StringRef folder, std::error_code &error) {
  const auto limit = std::chrono::system_clock::now() - std::chrono::hours(1);
  for (fs::directory_iterator it(folder, error), end; it != end && !error; it.increment(error)) {
    fs::file_status status;
    if (path::extension(path::stem(it->path())) == entrySuffix && !fs::status(it->path(), status) &&
        status.getLastModificationTime() < limit)
      fs::remove(it->path());
  }
}
} // namespace

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

std::string DiskCache::pathOf(llvm::StringRef key) const {
  llvm::SmallString<128> file(folder);
  path::append(file, key + entrySuffix);
  return file.str().str();
}

// Entries are run as code, so nobody else may be able to place one.
bool DiskCache::folderIsTrusted() const {
  struct stat status;
  return !folder.empty() && ::stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && !(status.st_mode & (S_IWGRP | S_IWOTH));
}

std::optional<CompiledRule> DiskCache::lookup(llvm::StringRef key) const {
  if (!folderIsTrusted())
    return std::nullopt;
  std::string file = pathOf(key);
  auto buffer = readEntry(file);
  if (!buffer)
    return std::nullopt;
  std::optional<CompiledRule> rule = decode(key, (*buffer)->getBuffer());
  if (!rule) {
    fs::remove(file);
    return std::nullopt;
  }
  // The modification time is the time of last use, which eviction goes by.
  ::utimensat(AT_FDCWD, file.c_str(), nullptr, 0);
  return rule;
}

void DiskCache::store(llvm::StringRef key, const CompiledRule &rule) const {
  std::string bytes = encode(key, rule);
  if (folder.empty() || bytes.size() > maxBytes)
    return;
  if (fs::create_directories(folder, /*IgnoreExisting=*/true, fs::owner_all) || !folderIsTrusted())
    return;
  // Not fs::TempFile, which takes over the signals of the host process.
  const std::string target = pathOf(key);
  int descriptor;
  llvm::SmallString<128> aside;
  if (fs::createUniqueFile(target + ".%%%%%%%%", descriptor, aside, fs::OF_None,
                           fs::owner_read | fs::owner_write))
    return;
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  os << bytes;
  os.close();
  const bool failed = os.has_error();
  os.clear_error();
  if (failed || fs::rename(aside, target))
    fs::remove(aside);
  evict();
}

void DiskCache::evict() const {
  std::error_code error;
  removeAbandoned(folder, error);
  uint64_t total = 0;
  for (const StoredFile &file : listFiles(folder, error)) {
    total += file.bytes;
    if (total > maxBytes)
      fs::remove(file.path);
  }
}

llvm::Expected<std::vector<DiskCache::Entry>> DiskCache::entries() const {
  std::vector<Entry> result;
  if (folder.empty() || !fs::exists(folder))
    return result;
  std::error_code error;
  for (const StoredFile &file : listFiles(folder, error))
    result.push_back({path::stem(file.path).str(), ruleNameOf(file.path), file.bytes,
                      llvm::sys::toTimeT(file.lastUsed)});
  for (const StoredFile &file : listKernels(getKernelFolder(), error))
    result.push_back(
        {path::stem(file.path).str(), "kernels", file.bytes, llvm::sys::toTimeT(file.lastUsed)});
  if (error)
    return makeError(UPD_IO_ERROR,
                     "cannot read the cache folder `" + folder + "`: " + error.message());
  return result;
}

llvm::Expected<unsigned> DiskCache::clear() const {
  if (folder.empty() || !fs::exists(folder))
    return 0;
  std::error_code error;
  unsigned removed = 0;
  std::vector<StoredFile> files = listFiles(folder, error);
  llvm::append_range(files, listKernels(getKernelFolder(), error));
  for (const StoredFile &file : files) {
    if (std::error_code failure = fs::remove(file.path))
      return makeError(UPD_IO_ERROR, "cannot remove `" + file.path + "`: " + failure.message());
    ++removed;
  }
  if (error)
    return makeError(UPD_IO_ERROR,
                     "cannot read the cache folder `" + folder + "`: " + error.message());
  return removed;
}
