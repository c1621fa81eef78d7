//===- CodeGenerator.h - From the LLVM dialect to machine code ----------------------*- C++ -*-===//
// Owns LLVM's view of one CPU, which is costly to make, and turns modules into objects for it.

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

/// Makes code for one CPU. Keep one and reuse it; one thread at a time may use it.
class CodeGenerator {
public:
  /// Fails if this LLVM does not have the target.
  static llvm::Expected<std::unique_ptr<CodeGenerator>> create(const CPUTarget &target);
  /// Makes `generator`, if there is none, with what its first object would otherwise wait for.
  static llvm::Error makeReady(std::unique_ptr<CodeGenerator> &generator, const CPUTarget &target);
  ~CodeGenerator();

  const CPUTarget &target() const { return cpuTarget; }

  /// LLVM IR of a module in the LLVM dialect, with this CPU's triple, layout and attributes. The
  /// module's MLIR context must have been made with `registerTargetDialects`.
  llvm::Expected<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module,
                                                          llvm::LLVMContext &context) const;

  /// A short pipeline: the loops are in their final form already, so there is nothing to vectorise
  /// or unroll, and doing so would undo their form.
  void optimize(llvm::Module &module);

  /// Position-independent code of the module, which is consumed: it must not be used again.
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
