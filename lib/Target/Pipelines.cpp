//===- Pipelines.cpp - The passes from a plan to the LLVM dialect -----------------------------===//
// The options of the first pass hold the CPU's properties that affect the loops.

#include "updraft/Target/Pipelines.h"

#include "Updraft/IR/UpdraftDialect.h"
#include "Updraft/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "updraft/Conversion/Passes.h"

namespace updraft {

void registerTargetDialects(mlir::DialectRegistry &registry) {
  registry.insert<UpdraftDialect, mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
                  mlir::func::FuncDialect, mlir::gpu::GPUDialect, mlir::LLVM::LLVMDialect,
                  mlir::math::MathDialect, mlir::NVVM::NVVMDialect, mlir::scf::SCFDialect,
                  mlir::vector::VectorDialect>();
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerGPUDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
}

void buildLoopsPipeline(mlir::OpPassManager &manager, const CPUTarget &target) {
  ConvertPlanToLoopsPassOptions options;
  options.vectorBits = target.vectorBits;
  options.maskRemainder = target.maskRemainder;
  const ProductTarget products = productTargetOf(target);
  options.vectorRegisters = products.vectorRegisters;
  options.interleaveBits = products.interleaveBits;
  options.dot = products.dot;
  manager.addPass(createExpandMathPass());
  manager.addPass(createConvertPlanToLoopsPass(options));
  manager.addPass(createOutlineMathPass());
  PipelineLoopsPassOptions pipelining;
  pipelining.vectorBits = target.vectorBits;
  if (target.vectorBits >= 512) {
    // With few operations between two cache lines of a stream, a CPU waits for the next line or for
    // its divider.
    manager.addPass(createPrefetchStreamsPass());
    manager.addPass(createInvertDivisorsPass());
    // CPUs with such vectors keep at least 192 vector registers in flight. Passing values between
    // two loops through memory would cost more than it gains.
    pipelining.window = 192;
    pipelining.splitCounted = false;
  }
  manager.addPass(createPipelineLoopsPass(pipelining));
}

ProductTarget productTargetOf(const CPUTarget &target) {
  const bool isAArch64 = llvm::StringRef(target.triple).starts_with("aarch64");
  ProductTarget result;
  result.vectorBits = target.vectorBits;
  result.vectorRegisters = isAArch64 || target.vectorBits >= 512 ? 32 : 16;
  // Instructions of x86 interleave parts of 128 bits, those of SVE whole vectors.
  result.interleaveBits = isAArch64 ? target.vectorBits : 128;
  result.maskRemainder = target.maskRemainder;
  if (target.multipliesBF16)
    result.dot = isAArch64 ? DotInstruction::BFDOT : DotInstruction::VDPBF16PS;
  return result;
}

void buildKernelsPipeline(mlir::OpPassManager &manager, const GPUTarget &target) {
  ConvertPlanToGPUPassOptions options;
  options.accessBits = target.accessBits;
  if (!target.isEmulated)
    manager.addPass(createApproximatePass());
  manager.addPass(createExpandMathPass());
  manager.addPass(createConvertPlanToGPUPass(options));
  manager.addPass(createOutlineMathPass());
}

void buildNVVMPipeline(mlir::OpPassManager &manager) {
  manager.addNestedPass<mlir::gpu::GPUModuleOp>(createConvertGPUToNVVMPass());
}

void buildEmulatorPipeline(mlir::OpPassManager &manager) {
  manager.addPass(createConvertGPUToEmulatorPass());
}

void buildLLVMDialectPipeline(mlir::OpPassManager &manager) {
  manager.addPass(createConvertLoopsToLLVMPass());
}

namespace {
struct TargetOptions : mlir::PassPipelineOptions<TargetOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("name of the CPU or GPU")};
};
} // namespace

/// Not PassPipelineRegistration, which can't refuse the name of a target.
template <typename Target>
static void registerFor(llvm::StringRef name, llvm::StringRef description,
                        void (*build)(mlir::OpPassManager &, const Target &)) {
  mlir::registerPassPipeline(
      name, description,
      [build](mlir::OpPassManager &manager, llvm::StringRef text,
              llvm::function_ref<mlir::LogicalResult(const llvm::Twine &)> refuse) {
        TargetOptions options;
        if (failed(options.parseFromString(text)))
          return mlir::failure();
        llvm::Expected<Target> target = Target::named(options.target);
        if (!target)
          return refuse(llvm::toString(target.takeError()));
        build(manager, *target);
        return mlir::success();
      },
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> handle) {
        handle(TargetOptions());
      });
}

void registerTargetPipelines() {
  registerFor("updraft-loops-pipeline", "From plans to loops for a CPU", buildLoopsPipeline);
  registerFor("updraft-kernels-pipeline", "From plans to kernels for a GPU", buildKernelsPipeline);
  mlir::PassPipelineRegistration<>("updraft-llvm-pipeline", "From loops to the LLVM dialect",
                                   buildLLVMDialectPipeline);
  mlir::PassPipelineRegistration<>("updraft-nvvm-pipeline", "From kernels to the NVVM dialect",
                                   buildNVVMPipeline);
  mlir::PassPipelineRegistration<>("updraft-emulator-pipeline",
                                   "From kernels to functions of the host that emulate them",
                                   buildEmulatorPipeline);
}

} // namespace updraft
