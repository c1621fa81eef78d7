//===- CacheKey.cpp - The identity of a compilation -------------------------------------------===//

#include "updraft/Driver/CacheKey.h"

#include "updraft/Driver/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/SHA256.h"

#include <map>

using namespace updraft;

namespace {
/// Hashes a sequence of strings and numbers such that different sequences are never confused.
class SequenceHash {
public:
  void add(llvm::StringRef text) {
    add(text.size());
    hash.update(text);
  }
  void add(uint64_t number) {
    uint8_t bytes[8];
    llvm::support::endian::write64le(bytes, number);
    hash.update(bytes);
  }
  std::string finish() { return llvm::toHex(hash.final(), /*LowerCase=*/true); }

private:
  llvm::SHA256 hash;
};
} // namespace

std::string updraft::cacheKey(const Program &program, const CompileRequest &request) {
  SequenceHash hash;
  hash.add(buildId());
  hash.add(request.target.key());
  hash.add(request.gpu ? request.gpu->name : "");
  hash.add(request.rule.numerics);
  // Most rules are the same for all tensors.
  hash.add(mayHaveMatrixRule(program, request.rule) ? request.rule.tensors : UPD_ALL_TENSORS);
  hash.add(program.files().size());
  for (const auto &file : program.files())
    hash.add(file->text());
  hash.add(request.rule.rule);

  // The last value of a name counts, so a map holds the relevant ones.
  std::map<std::string, std::string> settings;
  for (const auto &[name, value] : request.rule.settings)
    settings[name] = value;
  hash.add(settings.size());
  for (const auto &[name, value] : settings) {
    hash.add(name);
    hash.add(value);
  }
  std::map<std::string, StorageType> storage;
  for (const auto &[name, dtype] : request.rule.storage)
    storage[name] = dtype;
  hash.add(storage.size());
  for (const auto &[name, dtype] : storage) {
    hash.add(name);
    hash.add(static_cast<uint64_t>(dtype));
  }
  hash.add(request.rule.probes.size());
  for (const std::string &probe : request.rule.probes)
    hash.add(probe);
  return hash.finish();
}
