//===- LoopsToLLVM.cpp - From vector loops to the LLVM dialect --------------------------------===//
// One conversion with the patterns of all dialects that the loops use. Several passes would walk
// and match everything once each.

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"
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
    populateSCFToControlFlowConversionPatterns(set);
    cf::populateControlFlowToLLVMConversionPatterns(*converter, set);
    populateFuncToLLVMConversionPatterns(*converter, set);
    arith::populateArithToLLVMConversionPatterns(*converter, set);
    populateMathToLLVMConversionPatterns(*converter, set, /*approximateLog1p=*/false,
                                         /*benefit=*/2);
    populateMathToLibmConversionPatterns(set);
    // Vectors would be taken apart, which fails in one conversion with that of what it leaves.
    llvm::erase_if(set.getNativePatterns(), [](const std::unique_ptr<RewritePattern> &pattern) {
      return pattern->getDebugName().contains("VecOpToScalarOp");
    });
    populateVectorToLLVMConversionPatterns(*converter, set);
    patterns = FrozenRewritePatternSet(std::move(set));
    return success();
  }

  void runOnOperation() override {
    LLVMConversionTarget target(getContext());
    target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                             math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
    // LLVM folds what there is to fold.
    ConversionConfig config;
    config.foldingMode = DialectConversionFoldingMode::Never;
    if (failed(applyPartialConversion(getOperation(), target, patterns, config)))
      signalPassFailure();
  }

  std::shared_ptr<LLVMTypeConverter> converter;
  FrozenRewritePatternSet patterns;
};

} // namespace
} // namespace updraft
