//===- LoopsToLLVM.cpp - From vector loops to the LLVM dialect --------------------------------===//
// One conversion with the patterns of all dialects that the loops use. Several passes would walk
// and match everything once each.

#include "ToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
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

  // Collecting the patterns takes longer than applying them to a small rule, so it is done once for
  // all modules that this pass is run on.
  LogicalResult initialize(MLIRContext *context) override {
    converter = std::make_shared<LLVMTypeConverter>(context);
    RewritePatternSet set(context);
    populateToLLVMPatterns(*converter, set);
    populateMathToLibmConversionPatterns(set);
    // Vectors would be taken apart, which fails in one conversion with that of what it leaves.
    llvm::erase_if(set.getNativePatterns(), [](const std::unique_ptr<RewritePattern> &pattern) {
      return pattern->getDebugName().contains("VecOpToScalarOp");
    });
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
