//===- GPUToNVVM.cpp - From kernels to the NVVM and LLVM dialects -----------------------------===//
// Upstream's pass would call libdevice for elementary functions and approximate roots. This pass
// keeps only operations that LLVM rounds correctly and those that updraft-approximate marked.

#include "../ToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "updraft/Conversion/Passes.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_CONVERTGPUTONVVMPASS
#include "updraft/Conversion/Passes.h.inc"

namespace {

/// Lowers a marked f32 operation to one intrinsic per lane.
template <typename Op> class ApproximationPattern : public ConvertOpToLLVMPattern<Op> {
public:
  ApproximationPattern(const LLVMTypeConverter &converter, StringRef intrinsic)
      : ConvertOpToLLVMPattern<Op>(converter, /*benefit=*/10), intrinsic(intrinsic) {}

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getFastmath() != arith::FastMathFlags::afn ||
        !getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "is to be rounded to nearest");
    Location loc = op.getLoc();
    StringAttr name = rewriter.getStringAttr(intrinsic);
    auto approximation = [&](ValueRange operands) {
      return LLVM::CallIntrinsicOp::create(rewriter, loc, rewriter.getF32Type(), name, operands)
          .getResult(0);
    };
    auto vector = dyn_cast<VectorType>(op.getType());
    if (!vector) {
      rewriter.replaceOp(op, approximation(adaptor.getOperands()));
      return success();
    }
    Value lanes = LLVM::PoisonOp::create(rewriter, loc, vector);
    for (int32_t i = 0; i < vector.getNumElements(); ++i) {
      Value lane = LLVM::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(i));
      auto operands = llvm::map_to_vector(adaptor.getOperands(), [&](Value operand) -> Value {
        return LLVM::ExtractElementOp::create(rewriter, loc, operand, lane);
      });
      lanes = LLVM::InsertElementOp::create(rewriter, loc, lanes, approximation(operands), lane);
    }
    rewriter.replaceOp(op, lanes);
    return success();
  }

private:
  StringRef intrinsic;
};

struct ConvertGPUToNVVMPass : impl::ConvertGPUToNVVMPassBase<ConvertGPUToNVVMPass> {
  using ConvertGPUToNVVMPassBase::ConvertGPUToNVVMPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    converter = std::make_shared<LLVMTypeConverter>(context);
    configureGpuToNVVMTypeConverter(*converter);
    RewritePatternSet set(context);
    populateToLLVMPatterns(*converter, set);
    populateAccessToLLVMPatterns(*converter, set);
    populateGpuToNVVMConversionPatterns(*converter, set);
    populateGpuSubgroupReduceOpLoweringPattern(*converter, set);
    set.add<ApproximationPattern<arith::DivFOp>>(*converter, "llvm.nvvm.div.full");
    set.add<ApproximationPattern<math::SqrtOp>>(*converter, "llvm.nvvm.sqrt.approx.f");
    set.add<ApproximationPattern<math::RsqrtOp>>(*converter, "llvm.nvvm.rsqrt.approx.f");
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
