//===- Pipelines.cpp - The passes from a plan to the LLVM dialect -----------------------------===//
// The options of the first pass hold the CPU's properties that affect the loops.

#include "updraft/Target/Pipelines.h"

#include "Updraft/IR/UpdraftDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
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

void buildKernelsPipeline(mlir::OpPassManager &manager, const GPUTarget &target) {
  ConvertPlanToGPUPassOptions options;
  options.accessBits = target.accessBits;
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

} // namespace updraft
