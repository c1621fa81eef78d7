//===- Compilation.h - One rule on its way through the stages -----------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_COMPILATION_H
#define UPDRAFT_LIB_DRIVER_COMPILATION_H

#include "Dump.h"
#include "SideTask.h"
#include "Toolchain.h"
#include "Updraft/IR/UpdraftOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "updraft/Driver/CompileRequest.h"
#include "updraft/Frontend/Frontend.h"
#include "updraft/Target/PTXEmitter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace updraft {

/// One rule on its way through the stages; each function goes one further.
class Compilation {
public:
  /// Both outlive it; there is one at a time of a toolchain.
  Compilation(Toolchain &toolchain, const CompileRequest &request);
  ~Compilation() { toolchain.dump = nullptr; }
  Compilation(const Compilation &) = delete;
  Compilation &operator=(const Compilation &) = delete;

  /// Begins to make what code is generated with, which takes milliseconds the first time, beside
  /// what comes before that.
  void prepareGenerator();

  /// Text to `updraft.rule`. `program` outlives the compilation.
  llvm::Error import(const Program &program);
  /// To operations of torch, as text.
  llvm::Error printTorch(llvm::raw_ostream &os);
  /// To `updraft.plan`.
  llvm::Error schedule();
  llvm::Error lowerToLoops();
  llvm::Error lowerToKernels();
  llvm::Error lowerToNVVM() { return run(toolchain.toNVVM, "nvvm"); }
  /// Leaves what runs on the host; an object of that has the kernels as text.
  llvm::Error lowerToHost();
  /// To LLVM IR.
  llvm::Error lowerToLLVM();
  /// From loops to machine code: of a large rule to two objects in an archive, made by two threads.
  llvm::Expected<std::string> generate();

  llvm::Expected<std::string> object();
  llvm::Expected<std::string> assembly() { return tools.generator->emitAssembly(*llvmModule); }
  llvm::Expected<std::string> ptx() { return emitPTX(kernels(), *request.gpu); }
  llvm::Expected<std::string> cubin();
  llvm::Expected<std::string> sass();
  void printModule(llvm::raw_ostream &os);
  void printLLVM(llvm::raw_ostream &os) { llvmModule->print(os, nullptr); }

  /// Whether the dump, if one is wanted, could be written.
  llvm::Error checkDump() { return dump->takeError(); }

  mlir::gpu::GPUModuleOp kernels() { return *module->getOps<mlir::gpu::GPUModuleOp>().begin(); }
  auto getPlans() { return module->getOps<PlanOp>(); }
  std::string takeInterface() { return std::move(interface); }

private:
  llvm::Error lowerToLLVMDialect();
  llvm::Error makeGenerator();
  llvm::Error translate();
  llvm::Error run(mlir::PassManager &passes, llvm::StringRef stage);
  std::string reproducer(mlir::PassManager &passes);
  llvm::Error dumpAssembly();
  void addTexts();
  void addText(const char *suffix, const std::string &text);
  llvm::Error internalError(llvm::StringRef stage, const std::string &reproducer);

  Toolchain &toolchain;
  Toolchain::ForTarget &tools;
  const CompileRequest &request;
  const Program *source = nullptr;
  std::optional<Dump> dump;
  std::vector<mlir::PassManager *> completed;
  std::string internalDiagnostics;
  mlir::ScopedDiagnosticHandler handler;
  ImportedRule imported; ///< without its module, which is the next one
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string ruleName;
  std::string interface;
  std::string kernelText;        ///< PTX
  llvm::LLVMContext llvmContext; ///< outlives the module
  std::unique_ptr<llvm::Module> llvmModule;
  std::optional<SideTask> preparation; ///< of the generator; waited for before the rest goes
};

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_COMPILATION_H
