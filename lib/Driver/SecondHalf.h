//===- SecondHalf.h - Compiles half of a rule in another thread ---------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_SECONDHALF_H
#define UPDRAFT_LIB_DRIVER_SECONDHALF_H

#include "SideTask.h"
#include "updraft/Target/CodeGenerator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <optional>

namespace updraft {

/// Compiles one module to an object while the calling thread compiles another.
class SecondHalf {
public:
  /// Translates `module` with `translator`, then starts the thread. Creates `generator` if it is
  /// null. It must not be used until `take` returns.
  static llvm::Expected<std::unique_ptr<SecondHalf>>
  start(mlir::ModuleOp module, const CodeGenerator &translator,
        std::unique_ptr<CodeGenerator> &generator);

  /// Waits for the object.
  llvm::Expected<llvm::SmallVector<char, 0>> take();
  ~SecondHalf();

private:
  llvm::Expected<llvm::SmallVector<char, 0>> generate(const CPUTarget &target,
                                                      std::unique_ptr<CodeGenerator> &generator);

  llvm::LLVMContext context; // outlives the module
  std::unique_ptr<llvm::Module> llvmModule;
  std::optional<llvm::Expected<llvm::SmallVector<char, 0>>> object;
  std::optional<SideTask> task;
};

/// Returns an archive of two objects.
llvm::Expected<std::string> archiveOf(llvm::ArrayRef<char> first, llvm::ArrayRef<char> second);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_SECONDHALF_H
