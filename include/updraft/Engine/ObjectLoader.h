//===- ObjectLoader.h - Machine code in this process --------------------------------*- C++ -*-===//

#ifndef UPDRAFT_ENGINE_OBJECTLOADER_H
#define UPDRAFT_ENGINE_OBJECTLOADER_H

#include "runtime/base/Kernels.h"
#include "updraft/Driver/CompiledRule.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace updraft {

/// Links compiled rules into the process, and unloads them. Thread-safe. A fork waits for both,
/// because ORC has its own locks.
class ObjectLoader {
public:
  static llvm::Expected<std::unique_ptr<ObjectLoader>> create();
  ~ObjectLoader();

  /// For the child of a fork that could not wait. Loaded code stays loaded, and linking is no
  /// longer possible.
  void abandon();

  /// The code lives as long as the result. The loader must outlive the result.
  llvm::Expected<std::shared_ptr<const runtime::Kernels>> load(const CompiledRule &rule);

private:
  struct Linker;
  explicit ObjectLoader(std::shared_ptr<Linker> linker);
  std::shared_ptr<Linker> linker;
};

} // namespace updraft

#endif // UPDRAFT_ENGINE_OBJECTLOADER_H
