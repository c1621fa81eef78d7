//===- CodeGenerator.h - From the LLVM dialect to machine code ----------------------*- C++ -*-===//
// Owns LLVM's description of one CPU, which is expensive to create, and compiles modules for it.

#ifndef UPDRAFT_TARGET_CODEGENERATOR_H
#define UPDRAFT_TARGET_CODEGENERATOR_H

#include "mlir/IR/BuiltinOps.h"
#include "updraft/Target/CPUTarget.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace updraft {

/// Generates code for one CPU. Create one and reuse it. Not thread-safe.
class CodeGenerator {
public:
  /// Fails if this LLVM does not have the target.
  static llvm::Expected<std::unique_ptr<CodeGenerator>> create(const CPUTarget &target);
  /// Creates `generator` if it is null, and prepares it so that the first object is not delayed.
  static llvm::Error makeReady(std::unique_ptr<CodeGenerator> &generator, const CPUTarget &target);
  ~CodeGenerator();

  const CPUTarget &target() const { return cpuTarget; }

  /// Returns LLVM IR for a module in the LLVM dialect, with this CPU's triple, layout and
  /// attributes. The module's MLIR context must have been created with `registerTargetDialects`.
  llvm::Expected<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module,
                                                          llvm::LLVMContext &context) const;

  /// Runs a short pipeline. The loops already have their final form; vectorising or unrolling would
  /// undo it.
  void optimize(llvm::Module &module);

  /// Emits position-independent code. Consumes the module: it must not be used again.
  llvm::Expected<llvm::SmallVector<char, 0>> emitObject(llvm::Module &module);
  llvm::Expected<std::string> emitAssembly(llvm::Module &module);

private:
  llvm::Error prepareObjects();
  class ObjectEmitter;

  CodeGenerator(const CPUTarget &target, std::unique_ptr<llvm::TargetMachine> machine);

  CPUTarget cpuTarget;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<ObjectEmitter> objects; // null until the first object
};

} // namespace updraft

#endif // UPDRAFT_TARGET_CODEGENERATOR_H
