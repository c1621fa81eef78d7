//===- Session.cpp - Compiled rules of this process -------------------------------------------===//

#include "updraft/Engine/Session.h"

#include "updraft/Driver/CacheKey.h"
#include "updraft/Driver/DumpFolder.h"
#include "updraft/Driver/ForkDelay.h"
#include "updraft/Driver/StatusError.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <pthread.h>

using namespace updraft;

// A process rarely uses more rules than this. A process that does, such as a search over rules,
// must not keep all of them.
static constexpr size_t maxRecent = 128;
// An idle compiler keeps some MB, and saves milliseconds for the next rule.
static constexpr size_t maxIdle = 2;

Session &Session::get() {
  static Session &session = *new Session;
  static const int watching = pthread_atfork(beforeFork, afterForkInParent, afterForkInChild);
  static_cast<void>(watching);
  return session;
}

void Session::beforeFork() {
  const bool quiet = ForkDelay::holdOff();
  get().mutex.lock();
  get().isQuiet = quiet;
}

void Session::afterForkInParent() {
  get().mutex.unlock();
  ForkDelay::resume();
}

// The child lacks the threads that were compiling. Leaks the objects that they used and never
// touches them: the pending entries, whose condition variables count waiting threads, and the
// borrowed compilers, which are not in `idle`. Also leaks a loader that another thread was using.
// Its code can be called, but is never unloaded.
void Session::afterForkInChild() {
  Session &session = get();
  static_cast<void>(new auto(std::move(session.pending)));
  session.pending.clear();
  if (!session.isQuiet && session.loader) {
    session.loader->abandon();
    static_cast<void>(new auto(std::move(session.loader)));
    session.loader = nullptr;
  }
  session.mutex.unlock();
  ForkDelay::resumeInChild();
}

class Session::BorrowedCompiler {
public:
  explicit BorrowedCompiler(Session &session) : session(session) {
    {
      std::lock_guard lock(session.mutex);
      if (!session.idle.empty()) {
        compiler = std::move(session.idle.back());
        session.idle.pop_back();
      }
    }
    if (!compiler)
      compiler = std::make_unique<Compiler>();
  }
  ~BorrowedCompiler() {
    std::unique_lock lock(session.mutex);
    if (session.idle.size() < maxIdle)
      session.idle.push_back(std::move(compiler));
    lock.unlock();
    // A surplus compiler is destroyed here, without the lock.
  }
  BorrowedCompiler(const BorrowedCompiler &) = delete;
  BorrowedCompiler &operator=(const BorrowedCompiler &) = delete;

  Compiler &get() { return *compiler; }
  Compiler *operator->() { return compiler.get(); }

private:
  Session &session;
  std::unique_ptr<Compiler> compiler;
};

class Session::Turn {
public:
  Turn(Session &session, std::string key, std::shared_ptr<Pending> pending)
      : session(session), key(std::move(key)), pending(std::move(pending)) {}
  ~Turn() {
    std::lock_guard lock(session.mutex);
    session.pending.erase(key);
    pending->done = true;
    pending->changed.notify_all();
  }
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;

  void succeed(std::shared_ptr<const runtime::Kernels> kernels) {
    std::unique_lock lock(session.mutex);
    auto dropped = session.remember(key, kernels);
    pending->kernels = std::move(kernels);
    lock.unlock(); // before `dropped` is released
  }

  llvm::Error fail(llvm::Error error) {
    auto [status, message] = takeStatus(std::move(error));
    std::lock_guard lock(session.mutex);
    pending->status = status;
    pending->message = message;
    return makeError(status, std::move(message));
  }

private:
  Session &session;
  std::string key;
  std::shared_ptr<Pending> pending;
};

bool Session::Pending::failsFor(const Program &other) const {
  // Only these errors are certain to recur: linking may also fail because memory is short.
  if (status != UPD_COMPILE_ERROR && status != UPD_UNSUPPORTED)
    return false;
  // Equal keys imply equal texts.
  return llvm::equal(program->files(), other.files(),
                     [](const auto &a, const auto &b) { return *a == *b; });
}

std::shared_ptr<const runtime::Kernels> Session::find(const std::string &key) {
  auto found = std::find_if(recent.begin(), recent.end(),
                            [&](const auto &entry) { return entry.first == key; });
  if (found == recent.end())
    return nullptr;
  std::rotate(found, found + 1, recent.end());
  return recent.back().second;
}

std::shared_ptr<const runtime::Kernels>
Session::remember(const std::string &key, std::shared_ptr<const runtime::Kernels> kernels) {
  std::shared_ptr<const runtime::Kernels> dropped;
  if (recent.size() == maxRecent) {
    dropped = std::move(recent.front().second);
    recent.erase(recent.begin());
  }
  recent.emplace_back(key, std::move(kernels));
  return dropped;
}

llvm::Expected<std::shared_ptr<const runtime::Kernels>> Session::link(const CompiledRule &rule) {
  std::shared_ptr<ObjectLoader> objectLoader;
  {
    ForkDelay delay;
    std::lock_guard lock(mutex);
    if (!loader) {
      auto created = ObjectLoader::create();
      if (!created)
        return created.takeError();
      loader = std::move(*created);
    }
    objectLoader = loader;
  }
  return objectLoader->load(rule);
}

llvm::Expected<Session::Loaded> Session::make(const std::string &key, const Program &program,
                                              const CompileRequest &request,
                                              const DiskCache &cache) {
  // With a dump or a report requested, a result must not come from the disk cache.
  const std::string reports = reportFolderOfEnvironment();
  const bool isShown = !dumpFolderOfEnvironment().empty() || !reports.empty();
  if (std::optional<CompiledRule> stored = isShown ? std::nullopt : cache.lookup(key)) {
    auto kernels = link(*stored);
    if (kernels)
      return Loaded{std::move(*kernels), Origin::Disk};
    // An object that does not link is as damaged as one with a wrong checksum.
    llvm::consumeError(kernels.takeError());
  }
  auto compiled = BorrowedCompiler(*this)->compile(program, request);
  if (!compiled)
    return compiled.takeError();
  auto kernels = link(*compiled);
  if (!kernels)
    return kernels.takeError();
  cache.store(key, *compiled);
  if (!reports.empty())
    if (llvm::Error error = leaveReport(BorrowedCompiler(*this).get(), request, key, reports))
      return std::move(error);
  return Loaded{std::move(*kernels), Origin::Compiled};
}

llvm::Expected<Session::Loaded> Session::load(const CompileRequest &request,
                                              const DiskCache &cache) {
  auto program = Compiler::parse(request);
  if (!program)
    return program.takeError();
  const std::string key = cacheKey(**program, request);

  std::unique_lock lock(mutex);
  for (;;) {
    if (auto kernels = find(key))
      return Loaded{std::move(kernels), Origin::Memory};
    auto [entry, isFirst] = pending.try_emplace(key);
    if (isFirst) {
      entry->second = std::make_shared<Pending>(*program);
      break;
    }
    std::shared_ptr<Pending> other = entry->second;
    other->changed.wait(lock, [&] { return other->done; });
    if (other->kernels)
      return Loaded{other->kernels, Origin::Memory};
    // Otherwise this thread tries, or waits for another one that does.
    if (other->failsFor(**program))
      return makeError(other->status, other->message);
  }
  Turn turn(*this, key, pending[key]);
  lock.unlock();

  auto loaded = make(key, **program, request, cache);
  if (!loaded)
    return turn.fail(loaded.takeError());
  turn.succeed(loaded->kernels);
  return loaded;
}

llvm::Error Session::emit(const CompileRequest &request, Stage stage, llvm::raw_ostream &os) {
  return BorrowedCompiler(*this)->emit(request, stage, os);
}

llvm::Error Session::explain(const CompileRequest &request, llvm::raw_ostream &os) {
  return BorrowedCompiler(*this)->explain(request, os);
}

llvm::Expected<std::string> Session::report(const ReportRequest &request) {
  return makeReport(BorrowedCompiler(*this).get(), request);
}
