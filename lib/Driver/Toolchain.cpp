//===- Toolchain.cpp - The objects that compilations share ------------------------------------===//

#include "Toolchain.h"

#include "Updraft/IR/UpdraftDialect.h"
#include "Updraft/Transforms/Pipelines.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "updraft/Target/Pipelines.h"

using namespace mlir;
using namespace updraft;

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registry.insert<UpdraftDialect>();
  registerTargetDialects(registry);
  return registry;
}

// Plans are verified, and LLVM verifies the result. In between, only a bug in a pass could break
// the IR; builds with assertions check for that.
static void skipVerification([[maybe_unused]] PassManager &passes) {
#ifdef NDEBUG
  passes.enableVerifier(false);
#endif
}

Toolchain::Toolchain()
    : context(makeRegistry(), MLIRContext::Threading::DISABLED), toTorch(&context),
      toPlan(&context), toCPUPlan(&context), toLLVM(&context), toLineTables(&context),
      toLineDirectives(&context), toNVVM(&context), toEmulator(&context) {
  buildTorchPipeline(toTorch);
  buildPlanPipeline(toPlan);
  buildCPUPlanPipeline(toCPUPlan);
  buildLLVMDialectPipeline(toLLVM);
  toLineTables.addPass(LLVM::createDIScopeForLLVMFuncOpPass());
  toLineDirectives.addPass(
      LLVM::createDIScopeForLLVMFuncOpPass({LLVM::DIEmissionKind::DebugDirectivesOnly}));
  buildNVVMPipeline(toNVVM);
  buildEmulatorPipeline(toEmulator);
  for (PassManager *passes :
       {&toTorch, &toPlan, &toCPUPlan, &toLLVM, &toLineTables, &toNVVM, &toEmulator})
    passes->addInstrumentation(std::make_unique<ObservePasses>(observers));
  for (PassManager *passes : {&toLLVM, &toNVVM, &toEmulator})
    skipVerification(*passes);
}

Toolchain::ForTarget::ForTarget(MLIRContext &context, const CPUTarget &target) : toLoops(&context) {
  buildLoopsPipeline(toLoops, target);
}

Toolchain::ForTarget &Toolchain::forTarget(const CPUTarget &target) {
  std::unique_ptr<ForTarget> &made = targets[target.key()];
  if (!made) {
    made = std::make_unique<ForTarget>(context, target);
    made->toLoops.addInstrumentation(std::make_unique<ObservePasses>(observers));
    skipVerification(made->toLoops);
  }
  return *made;
}

PassManager &Toolchain::forTarget(const GPUTarget &target) {
  std::unique_ptr<PassManager> &made = toKernels[target.name];
  if (!made) {
    made = std::make_unique<PassManager>(&context);
    buildKernelsPipeline(*made, target);
    made->addInstrumentation(std::make_unique<ObservePasses>(observers));
    skipVerification(*made);
  }
  return *made;
}
