//===- Session.h - Compiled rules of this process -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_ENGINE_SESSION_H
#define UPDRAFT_ENGINE_SESSION_H

#include "updraft/Driver/Compiler.h"
#include "updraft/Driver/DiskCache.h"
#include "updraft/Engine/ObjectLoader.h"

#include <mutex>

namespace updraft {

/// Where the machine code of a rule came from.
enum class Origin { Compiled, Memory, Disk };

/// Compiles and loads rules for this process: looks in memory, then on disk, then compiles.
/// Thread-safe; rules compile one at a time.
class Session {
public:
  struct Loaded {
    std::shared_ptr<const runtime::Kernels> kernels;
    Origin origin;
  };

  /// The process's session. It is never destroyed, so that code may run until the process ends. A
  /// fork waits for a compilation under way, so that the child can compile too.
  static Session &get();

  llvm::Expected<Loaded> load(const CompileRequest &request, const DiskCache &cache);
  llvm::Error emit(const CompileRequest &request, Stage stage, llvm::raw_ostream &os);
  llvm::Error explain(const CompileRequest &request, llvm::raw_ostream &os);

private:
  llvm::Expected<Loaded> loadLocked(const CompileRequest &request, const DiskCache &cache);
  llvm::Expected<ObjectLoader *> getLoader();
  void remember(const std::string &key, std::shared_ptr<const runtime::Kernels> kernels);

  std::mutex mutex;
  Compiler compiler;
  std::unique_ptr<ObjectLoader> loader;
  /// The most recently used last.
  std::vector<std::pair<std::string, std::shared_ptr<const runtime::Kernels>>> recent;
};

} // namespace updraft

#endif // UPDRAFT_ENGINE_SESSION_H
