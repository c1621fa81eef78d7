//===- PTXEmitter.cpp - From kernels to PTX ---------------------------------------------------===//

#include "updraft/Target/PTXEmitter.h"

#include "OptimizeModule.h"
#include "RunPasses.h"
#include "TargetMachine.h"
#include "ZeroSigns.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

namespace updraft {

static void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

llvm::Expected<std::string> emitPTX(mlir::gpu::GPUModuleOp module, const GPUTarget &target) {
  initializeTarget();
  auto machine =
      makeTargetMachine(target.name, "nvptx64-nvidia-cuda", target.architecture, target.features);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule = mlir::translateModuleToLLVMIR(module, context);
  if (!llvmModule)
    return llvm::createStringError("kernels cannot be translated to LLVM IR");
  llvmModule->setTargetTriple((*machine)->getTargetTriple());
  llvmModule->setDataLayout((*machine)->createDataLayout());
  optimizeModule(*llvmModule, **machine);
  keepZeroSigns(*llvmModule);

  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, /*DwoOut=*/nullptr,
                                      llvm::CodeGenFileType::AssemblyFile, /*DisableVerify=*/true))
    return llvm::createStringError("the target has no PTX emitter");
  if (llvm::Error error = runPasses(passes, *llvmModule))
    return error;
  return text.str().str();
}

} // namespace updraft
