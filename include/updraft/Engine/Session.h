//===- Session.h - Compiled rules of this process -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_ENGINE_SESSION_H
#define UPDRAFT_ENGINE_SESSION_H

#include "updraft/Driver/Compiler.h"
#include "updraft/Driver/DiskCache.h"
#include "updraft/Engine/ObjectLoader.h"
#include "updraft/Report/Report.h"

#include <condition_variable>
#include <map>
#include <mutex>

namespace updraft {

/// Where the machine code of a rule came from.
enum class Origin { Compiled, Memory, Disk };

/// Compiles and loads rules for this process. Looks in memory first, then on disk, then compiles.
/// Thread-safe. Rules compile concurrently; threads that request the same rule share one
/// compilation.
class Session {
public:
  struct Loaded {
    std::shared_ptr<const runtime::Kernels> kernels;
    Origin origin;
  };

  /// The process's session. It is never destroyed, so code can run until the process ends. A fork
  /// waits less than a second for compilations (ForkDelay.h). The child recompiles rules that other
  /// threads of the parent were compiling.
  static Session &get();

  llvm::Expected<Loaded> load(const CompileRequest &request, const DiskCache &cache);
  llvm::Error emit(const CompileRequest &request, Stage stage, llvm::raw_ostream &os);
  llvm::Error explain(const CompileRequest &request, llvm::raw_ostream &os);
  llvm::Expected<std::string> report(const ReportRequest &request);

private:
  /// A rule that one thread is loading or compiling; others wait until it is `done`.
  struct Pending {
    explicit Pending(std::shared_ptr<const Program> program) : program(std::move(program)) {}

    /// Whether `other` would fail in the same way, with the same message.
    bool failsFor(const Program &other) const;

    std::shared_ptr<const Program> program;
    std::condition_variable changed;
    bool done = false;
    std::shared_ptr<const runtime::Kernels> kernels; ///< null if it failed
    upd_status status = UPD_OK;                      ///< the status of the failure
    std::string message;
  };
  /// One thread's Pending; ends with the thread's request.
  class Turn;
  /// A compiler for one thread.
  class BorrowedCompiler;

  // These two need the lock.
  std::shared_ptr<const runtime::Kernels> find(const std::string &key);
  /// Returns the rule that was evicted, if any. The caller must release it without the lock:
  /// unloading code waits for forks, and forks wait for the lock.
  std::shared_ptr<const runtime::Kernels> remember(const std::string &key,
                                                   std::shared_ptr<const runtime::Kernels> kernels);
  llvm::Expected<Loaded> make(const std::string &key, const Program &program,
                              const CompileRequest &request, const DiskCache &cache);
  llvm::Expected<std::shared_ptr<const runtime::Kernels>> link(const CompiledRule &rule);

  static void beforeFork();
  static void afterForkInParent();
  static void afterForkInChild();

  /// Held only briefly, never during compilation, linking or reading.
  std::mutex mutex;
  /// The most recently used last.
  std::vector<std::pair<std::string, std::shared_ptr<const runtime::Kernels>>> recent;
  std::map<std::string, std::shared_ptr<Pending>> pending; ///< by key
  std::vector<std::unique_ptr<Compiler>> idle;
  std::shared_ptr<ObjectLoader> loader; ///< null until a rule is linked
  bool isQuiet = true;                  ///< whether the fork in progress interrupts nothing
};

} // namespace updraft

#endif // UPDRAFT_ENGINE_SESSION_H
