//===- LoopsToLLVM.cpp - From vector loops to the LLVM dialect --------------------------------===//
// Uses one conversion with the patterns of all dialects in the loops, because several passes would
// each walk and match everything.

#include "ToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "updraft/Conversion/Passes.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_CONVERTLOOPSTOLLVMPASS
#include "updraft/Conversion/Passes.h.inc"

namespace {

struct ConvertLoopsToLLVMPass : impl::ConvertLoopsToLLVMPassBase<ConvertLoopsToLLVMPass> {
  using ConvertLoopsToLLVMPassBase::ConvertLoopsToLLVMPassBase;

  // Collecting the patterns takes longer than applying them to a small rule, so the pass does it
  // once for all modules.
  LogicalResult initialize(MLIRContext *context) override {
    converter = std::make_shared<LLVMTypeConverter>(context);
    RewritePatternSet set(context);
    populateToLLVMPatterns(*converter, set);
    populateAccessToLLVMPatterns(*converter, set);
    patterns = FrozenRewritePatternSet(std::move(set));
    return success();
  }

  void runOnOperation() override {
    LLVMConversionTarget target(getContext());
    if (failed(convertToLLVM(getOperation(), patterns, target)))
      signalPassFailure();
  }

  std::shared_ptr<LLVMTypeConverter> converter;
  FrozenRewritePatternSet patterns;
};

} // namespace
} // namespace updraft
