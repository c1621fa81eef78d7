//===- Environment.cpp - updraft-c/environment.h ----------------------------------------------===//

#include "updraft-c/environment.h"

#include "runtime/capi/LastError.h"
#include "runtime/capi/OwnedText.h"
#include "runtime/cpu/ThreadPool.h"
#include "updraft/Driver/DiskCache.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Driver/Version.h"
#include "updraft/Target/CPUTarget.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Config/llvm-config.h"

#include <nlohmann/json.hpp>

using namespace updraft;
using nlohmann::ordered_json;

namespace {
ordered_json describe(const CPUTarget &target) {
  ordered_json features = ordered_json::array();
  llvm::SmallVector<llvm::StringRef> all;
  llvm::StringRef(target.features).split(all, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef feature : all)
    if (feature.consume_front("+"))
      features.push_back(feature.str());
  return {{"triple", target.triple},
          {"cpu", target.cpu},
          {"vector_bits", target.vectorBits},
          {"multiplies_bf16", target.multipliesBF16},
          {"features", std::move(features)}};
}

ordered_json describe(const DiskCache &cache, llvm::ArrayRef<DiskCache::Entry> entries) {
  ordered_json list = ordered_json::array();
  for (const DiskCache::Entry &entry : entries)
    list.push_back({{"rule", entry.ruleName},
                    {"key", entry.key},
                    {"bytes", entry.bytes},
                    {"last_used", entry.lastUsed}});
  ordered_json description{{"folder", cache.getFolder()},
                           {"max_bytes", cache.getMaxBytes()},
                           {"entries", std::move(list)}};
  if (std::string reason = cache.whyUnused(); !reason.empty())
    description["unused"] = std::move(reason);
  return description;
}
} // namespace

upd_status upd_environment(char **json) {
  return capi::guarded([&] {
    if (!json)
      return capi::fail(UPD_INVALID_ARGUMENT, "json, where the result goes, is null");
    *json = nullptr;
    const DiskCache cache = DiskCache::fromEnvironment();
    auto entries = cache.entries();
    if (!entries) {
      auto [status, message] = takeStatus(entries.takeError());
      return capi::fail(status, message);
    }
    const ordered_json all{{"updraft", versionNumber().str()},
                           {"llvm", LLVM_VERSION_STRING},
                           {"threads", runtime::ThreadPool::defaultThreadCount()},
                           {"target", describe(CPUTarget::host())},
                           {"cache", describe(cache, *entries)}};
    // Paths may contain any bytes.
    return capi::giveText(all.dump(-1, ' ', false, ordered_json::error_handler_t::replace), json);
  });
}
