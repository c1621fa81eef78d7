//===- Compilation.h - Takes one rule through the stages ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_COMPILATION_H
#define UPDRAFT_LIB_DRIVER_COMPILATION_H

#include "Dump.h"
#include "Recorder.h"
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

/// Takes one rule through the stages; each function advances by one.
class Compilation {
public:
  /// All must outlive the compilation. A recorder, if not null, gets the text after every pass. A
  /// toolchain supports one compilation at a time.
  Compilation(Toolchain &toolchain, const CompileRequest &request, Recorder *recorder = nullptr);
  ~Compilation() { toolchain.observers.clear(); }
  Compilation(const Compilation &) = delete;
  Compilation &operator=(const Compilation &) = delete;

  /// Starts to create the code generator in parallel with the earlier stages. This takes
  /// milliseconds the first time.
  void prepareGenerator();

  /// Imports text to `updraft.rule`. `program` must outlive the compilation.
  llvm::Error import(const Program &program);
  /// Prints the rule as torch operations.
  llvm::Error printTorch(llvm::raw_ostream &os);
  /// Lowers to `updraft.plan`.
  llvm::Error schedule();
  /// Prints a C header for the rule, which is scheduled.
  llvm::Error printHeader(llvm::raw_ostream &os);
  llvm::Error lowerToLoops();
  llvm::Error lowerToKernels();
  llvm::Error lowerToNVVM();
  /// Keeps the part that runs on the host. Its object contains the kernels as text.
  llvm::Error lowerToHost();
  /// Lowers to LLVM IR.
  llvm::Error lowerToLLVM();
  /// Compiles loops to machine code. A large rule becomes an archive of two objects from two
  /// threads.
  llvm::Expected<std::string> generate();

  llvm::Expected<std::string> object();
  llvm::Expected<std::string> assembly();
  llvm::Expected<std::string> ptx();
  llvm::Expected<std::string> cubin();
  llvm::Expected<std::string> sass();
  void printModule(llvm::raw_ostream &os);
  void printLLVM(llvm::raw_ostream &os) { llvmModule->print(os, nullptr); }

  /// Fails if a requested dump could not be written.
  llvm::Error checkDump() { return dump->takeError(); }

  mlir::gpu::GPUModuleOp kernels() { return *module->getOps<mlir::gpu::GPUModuleOp>().begin(); }
  const RuleFacts &getFacts() const { return facts; }
  mlir::ModuleOp getModule() { return *module; }
  llvm::SmallVector<PlanOp> getPlans() { return formsIn<PlanOp>(*module); }
  std::string takeDescriptor() { return std::move(descriptor); }

private:
  llvm::Error lowerToLLVMDialect();
  llvm::Error makeGenerator();
  llvm::Error translate();
  llvm::Error run(mlir::PassManager &passes, Stage stage);
  llvm::Error addLineDirectives();
  std::string reproducer(mlir::PassManager &passes);
  llvm::Error dumpAssembly();
  void addData();
  void addData(const char *suffix, llvm::Constant *value);
  llvm::Error internalError(Stage stage, const std::string &reproducer);

  Toolchain &toolchain;
  Toolchain::ForTarget &tools;
  const CompileRequest &request;
  Recorder *recorder;
  const Program *source = nullptr;
  std::optional<Dump> dump;
  std::vector<mlir::PassManager *> completed;
  std::string internalDiagnostics;
  mlir::ScopedDiagnosticHandler handler;
  RuleFacts facts;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string ruleName;
  std::string descriptor;
  std::string kernelText;        ///< PTX
  llvm::LLVMContext llvmContext; ///< outlives the module
  std::unique_ptr<llvm::Module> llvmModule;
  std::optional<SideTask> preparation; ///< of the generator; joined before other members go
};

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_COMPILATION_H
