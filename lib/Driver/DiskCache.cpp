//===- DiskCache.cpp - Compiled rules kept between processes ----------------------------------===//
// The cached value is the length of the descriptor, the descriptor, then the object.

#include "updraft/Driver/DiskCache.h"

#include "runtime/base/RuleInterface.h"
#include "runtime/files/CacheLocation.h"
#include "updraft/Driver/StatusError.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/Path.h"

#include <algorithm>

using namespace updraft;
using files::CodeCache;
using files::CodeFolder;
using files::IfMissing;
namespace path = llvm::sys::path;

namespace {
constexpr size_t lengthBytes = 8;

std::string encode(const CompiledRule &rule) {
  std::string bytes(lengthBytes, '\0');
  llvm::support::endian::write64le(bytes.data(), rule.descriptor.size());
  return bytes + rule.descriptor + rule.object;
}

std::optional<CompiledRule> decode(llvm::StringRef bytes) {
  if (bytes.size() < lengthBytes)
    return std::nullopt;
  uint64_t length = llvm::support::endian::read64le(bytes.data());
  llvm::StringRef payload = bytes.drop_front(lengthBytes);
  if (length > payload.size())
    return std::nullopt;
  return CompiledRule{payload.take_front(length).str(), payload.drop_front(length).str()};
}

std::string ruleNameOf(const std::optional<CodeCache::Entry> &entry) {
  if (entry)
    if (std::optional<CompiledRule> rule = decode(entry->code)) {
      runtime::RuleInterface interface;
      if (runtime::RuleInterface::read(rule->descriptor, interface).ok())
        return interface.name;
    }
  return "?";
}

/// Seconds since 1970.
int64_t lastUsed(const CodeFolder::File &file) { return file.lastUsed / 1'000'000'000; }
} // namespace

/// An open folder and its entries.
struct DiskCache::Listing {
  CodeFolder folder;
  std::vector<CodeFolder::File> files;
};

DiskCache::DiskCache(const std::string &folder, uint64_t maxBytes)
    : rules(folder, ".upc", maxBytes) {}

DiskCache DiskCache::fromEnvironment() {
  const auto location = files::CacheLocation::fromEnvironment();
  return DiskCache(location.folder, location.maxBytes);
}

std::string DiskCache::whyUnused() const {
  std::string reason;
  rules.open(IfMissing::Fail, reason);
  return reason;
}

std::optional<CompiledRule> DiskCache::lookup(llvm::StringRef key) const {
  std::optional<std::string> code = rules.lookup(key);
  return code ? decode(*code) : std::nullopt;
}

void DiskCache::store(llvm::StringRef key, const CompiledRule &rule) const {
  rules.store(key, encode(rule));
}

/// Returns nothing if the folder doesn't exist or is not used.
llvm::Expected<std::optional<DiskCache::Listing>> DiskCache::list() const {
  std::string ignored; // whyUnused() returns it
  auto opened = rules.open(IfMissing::Fail, ignored);
  if (!opened)
    return std::nullopt;
  int error = 0;
  std::vector<CodeFolder::File> files = rules.files(*opened, error);
  if (error != 0)
    return makeError(UPD_IO_ERROR, "cannot read the cache folder `" + getFolder() +
                                       "`: " + llvm::sys::StrError(error));
  return Listing{std::move(*opened), std::move(files)};
}

llvm::Expected<std::vector<DiskCache::Entry>> DiskCache::entries() const {
  auto listing = list();
  if (!listing)
    return listing.takeError();
  std::vector<Entry> result;
  if (!*listing)
    return result;
  for (const CodeFolder::File &file : (*listing)->files)
    result.push_back({path::stem(file.name).str(),
                      ruleNameOf(rules.read((*listing)->folder, file.name)), file.bytes,
                      lastUsed(file)});
  return result;
}

llvm::Expected<unsigned> DiskCache::clear() const {
  if (std::string reason = whyUnused(); !reason.empty())
    return makeError(UPD_IO_ERROR, "the cache folder `" + getFolder() + "` is not used: " + reason);
  auto listing = list();
  if (!listing)
    return listing.takeError();
  unsigned removed = 0;
  if (!*listing)
    return removed;
  for (const CodeFolder::File &file : (*listing)->files) {
    if (int error = (*listing)->folder.remove(file.name))
      return makeError(UPD_IO_ERROR, "cannot remove `" + getFolder() + "/" + file.name +
                                         "`: " + llvm::sys::StrError(error));
    ++removed;
  }
  return removed;
}
