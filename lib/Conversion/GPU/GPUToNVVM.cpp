//===- GPUToNVVM.cpp - From kernels to the NVVM and LLVM dialects -----------------------------===//
// Upstream's pass would call libdevice for elementary functions, and its root is an approximation:
// here only what LLVM rounds correctly is left of them.

#include "../ToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "updraft/Conversion/Passes.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_CONVERTGPUTONVVMPASS
#include "updraft/Conversion/Passes.h.inc"

namespace {

struct ConvertGPUToNVVMPass : impl::ConvertGPUToNVVMPassBase<ConvertGPUToNVVMPass> {
  using ConvertGPUToNVVMPassBase::ConvertGPUToNVVMPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    converter = std::make_shared<LLVMTypeConverter>(context);
    configureGpuToNVVMTypeConverter(*converter);
    RewritePatternSet set(context);
    populateToLLVMPatterns(*converter, set);
    populateGpuToNVVMConversionPatterns(*converter, set);
    patterns = FrozenRewritePatternSet(std::move(set));
    return success();
  }

  void runOnOperation() override {
    LLVMConversionTarget target(getContext());
    target.addLegalDialect<NVVM::NVVMDialect>();
    target.addIllegalDialect<gpu::GPUDialect>();
    target.addLegalOp<gpu::GPUModuleOp>();
    if (failed(convertToLLVM(getOperation(), patterns, target)))
      signalPassFailure();
  }

  std::shared_ptr<LLVMTypeConverter> converter;
  FrozenRewritePatternSet patterns;
};

} // namespace
} // namespace updraft
