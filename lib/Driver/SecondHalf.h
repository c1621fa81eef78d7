//===- SecondHalf.h - Half of a rule's code, made by another thread -----------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_SECONDHALF_H
#define UPDRAFT_LIB_DRIVER_SECONDHALF_H

#include "SideTask.h"
#include "updraft/Target/CodeGenerator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <optional>

namespace updraft {

/// Makes the object of one module beside the thread that makes that of another.
class SecondHalf {
public:
  /// Begins with `module`, which `translator` translates here. `generator` is made if it is null,
  /// and must not be used until `take`.
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

/// An archive of two objects.
llvm::Expected<std::string> archiveOf(llvm::ArrayRef<char> first, llvm::ArrayRef<char> second);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_SECONDHALF_H
