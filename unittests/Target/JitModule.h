//===- JitModule.h - The functions of a module, compiled into this process ----------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_TARGET_JITMODULE_H
#define UPDRAFT_UNITTESTS_TARGET_JITMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "updraft/Target/CPUTarget.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace updraft::test {

class JitModule {
public:
  /// Compiles functions that consist of loops, and links them into this process. They live as long
  /// as the result.
  static llvm::Expected<std::unique_ptr<JitModule>> link(mlir::ModuleOp functions,
                                                         const CPUTarget &target);

  /// The function of this name, or null if there is none.
  template <typename Function> Function find(const std::string &name) {
    auto address = jit->lookup(name);
    if (address)
      return address->toPtr<Function>();
    llvm::consumeError(address.takeError());
    return nullptr;
  }

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace updraft::test

#endif // UPDRAFT_UNITTESTS_TARGET_JITMODULE_H
