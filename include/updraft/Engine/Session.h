//===- Session.h - Compiled rules of this process -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_ENGINE_SESSION_H
#define UPDRAFT_ENGINE_SESSION_H

#include "updraft/Driver/Compiler.h"
#include "updraft/Driver/DiskCache.h"
#include "updraft/Engine/ObjectLoader.h"

#include <condition_variable>
#include <map>
#include <mutex>

namespace updraft {

/// Where the machine code of a rule came from.
enum class Origin { Compiled, Memory, Disk };

/// Compiles and loads rules for this process: looks in memory, then on disk, then compiles.
/// Thread-safe. Rules compile concurrently; threads that ask for the same rule share one
/// compilation.
class Session {
public:
  struct Loaded {
    std::shared_ptr<const runtime::Kernels> kernels;
    Origin origin;
  };

  /// The process's session. It is never destroyed, so that code may run until the process ends. A
  /// fork waits for compilations, for less than a second (ForkDelay.h). The child itself compiles
  /// the rules that other threads of the parent were still compiling.
  static Session &get();

  llvm::Expected<Loaded> load(const CompileRequest &request, const DiskCache &cache);
  llvm::Error emit(const CompileRequest &request, Stage stage, llvm::raw_ostream &os);
  llvm::Error explain(const CompileRequest &request, llvm::raw_ostream &os);

private:
  /// A rule that one thread loads or compiles; others wait until it is `done`.
  struct Pending {
    explicit Pending(std::shared_ptr<const Program> program) : program(std::move(program)) {}

    /// Whether `other` would fail in the same way, with the same message.
    bool failsFor(const Program &other) const;

    std::shared_ptr<const Program> program;
    std::condition_variable changed;
    bool done = false;
    std::shared_ptr<const runtime::Kernels> kernels; ///< null if it failed
    upd_status status = UPD_OK;                      ///< of the failure
    std::string message;
  };
  /// The Pending of a thread, which ends with it.
  class Turn;
  /// A compiler for one thread.
  class BorrowedCompiler;

  // These two need the lock.
  std::shared_ptr<const runtime::Kernels> find(const std::string &key);
  /// Returns the rule that is dropped for it, if any. The caller releases that after the lock:
  /// unloading code waits for forks, and forks wait for the lock.
  std::shared_ptr<const runtime::Kernels> remember(const std::string &key,
                                                   std::shared_ptr<const runtime::Kernels> kernels);
  llvm::Expected<Loaded> make(const std::string &key, const Program &program,
                              const CompileRequest &request, const DiskCache &cache);
  llvm::Expected<std::shared_ptr<const runtime::Kernels>> link(const CompiledRule &rule);

  static void beforeFork();
  static void afterForkInParent();
  static void afterForkInChild();

  /// Held for moments: never while anything is compiled, linked or read.
  std::mutex mutex;
  /// The most recently used last.
  std::vector<std::pair<std::string, std::shared_ptr<const runtime::Kernels>>> recent;
  std::map<std::string, std::shared_ptr<Pending>> pending; ///< by key
  std::vector<std::unique_ptr<Compiler>> idle;
  std::shared_ptr<ObjectLoader> loader; ///< null until a rule is linked
  bool isQuiet = true;                  ///< whether the fork under way interrupts nothing
};

} // namespace updraft

#endif // UPDRAFT_ENGINE_SESSION_H
