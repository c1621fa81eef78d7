//===- PTXEmitter.cpp - From kernels to PTX ---------------------------------------------------===//

#include "updraft/Target/PTXEmitter.h"

#include "OptimizeModule.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <mutex>

namespace updraft {

static void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    disableLoopStrengthReduction();
  });
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeMachine(const GPUTarget &target) {
  initializeTarget();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *llvmTarget = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!llvmTarget)
    return llvm::createStringError(
        llvm::formatv("cannot make code for target `{0}`: {1}", target.name, error).str());
  llvm::TargetOptions options;
  // Contraction happens where a rule says `fma`, nowhere else.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(llvmTarget->createTargetMachine(
      triple, target.architecture, target.features, options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Default));
}

llvm::Expected<std::string> emitPTX(mlir::gpu::GPUModuleOp module, const GPUTarget &target) {
  auto machine = makeMachine(target);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule = mlir::translateModuleToLLVMIR(module, context);
  if (!llvmModule)
    return llvm::createStringError("kernels cannot be translated to LLVM IR");
  llvmModule->setTargetTriple((*machine)->getTargetTriple());
  llvmModule->setDataLayout((*machine)->createDataLayout());
  optimizeModule(*llvmModule, **machine);

  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, /*DwoOut=*/nullptr,
                                      llvm::CodeGenFileType::AssemblyFile, /*DisableVerify=*/true))
    return llvm::createStringError("the target has no PTX emitter");
  passes.run(*llvmModule);
  return text.str().str();
}

} // namespace updraft
