//===- Session.cpp - Compiled rules of this process -------------------------------------------===//

#include "updraft/Engine/Session.h"

#include "updraft/Driver/CacheKey.h"
#include "updraft/Driver/DumpFolder.h"
#include "updraft/Driver/StatusError.h"

#include <algorithm>
#include <pthread.h>

using namespace updraft;

// A process rarely uses more rules than this; one that does (a search over rules) must not keep
// all.
static constexpr size_t maxRecent = 128;

Session &Session::get() {
  static Session &session = *new Session;
  // A child of fork has only the thread that forked, and must not find the mutex held by another.
  static const int watching = pthread_atfork(
      [] { get().mutex.lock(); }, [] { get().mutex.unlock(); }, [] { get().mutex.unlock(); });
  static_cast<void>(watching);
  return session;
}

llvm::Expected<ObjectLoader *> Session::getLoader() {
  if (!loader) {
    auto created = ObjectLoader::create();
    if (!created)
      return created.takeError();
    loader = std::move(*created);
  }
  return loader.get();
}

void Session::remember(const std::string &key, std::shared_ptr<const runtime::Kernels> kernels) {
  if (recent.size() == maxRecent)
    recent.erase(recent.begin());
  recent.emplace_back(key, std::move(kernels));
}

llvm::Expected<Session::Loaded> Session::loadLocked(const CompileRequest &request,
                                                    const DiskCache &cache) {
  auto program = compiler.parse(request);
  if (!program)
    return program.takeError();
  auto objectLoader = getLoader();
  if (!objectLoader)
    return objectLoader.takeError();

  std::string key = cacheKey(**program, request);
  auto found = std::find_if(recent.begin(), recent.end(),
                            [&](const auto &entry) { return entry.first == key; });
  if (found != recent.end()) {
    std::rotate(found, found + 1, recent.end());
    return Loaded{recent.back().second, Origin::Memory};
  }

  // Who wants to see a compilation must not get its result without one.
  const bool isDumped = !dumpFolderOfEnvironment().empty();
  if (std::optional<CompiledRule> stored = isDumped ? std::nullopt : cache.lookup(key)) {
    auto kernels = (*objectLoader)->load(*stored);
    if (kernels) {
      remember(key, *kernels);
      return Loaded{std::move(*kernels), Origin::Disk};
    }
    // What does not link is as damaged as what has the wrong checksum.
    llvm::consumeError(kernels.takeError());
  }

  auto compiled = compiler.compile(**program, request);
  if (!compiled)
    return compiled.takeError();
  auto kernels = (*objectLoader)->load(*compiled);
  if (!kernels)
    return kernels.takeError();
  cache.store(key, *compiled);
  remember(key, *kernels);
  return Loaded{std::move(*kernels), Origin::Compiled};
}

llvm::Expected<Session::Loaded> Session::load(const CompileRequest &request,
                                              const DiskCache &cache) {
  std::lock_guard lock(mutex);
  return loadLocked(request, cache);
}

llvm::Error Session::emit(const CompileRequest &request, Stage stage, llvm::raw_ostream &os) {
  std::lock_guard lock(mutex);
  return compiler.emit(request, stage, os);
}

llvm::Error Session::explain(const CompileRequest &request, llvm::raw_ostream &os) {
  std::lock_guard lock(mutex);
  return compiler.explain(request, os);
}
