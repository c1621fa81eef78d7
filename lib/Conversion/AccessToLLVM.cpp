//===- AccessToLLVM.cpp - From accesses of elements to loads and stores -----------------------===//
// A value of type `!updraft.elements` becomes the address of its element 0.

#include "KernelMemory.h"
#include "ToLLVM.h"
#include "Updraft/IR/UpdraftOps.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace updraft {

namespace {

// Whether addresses may lie outside of the memory, which rules out `inbounds`.
bool isOutside(Value elements) {
  while (auto shift = elements.getDefiningOp<ShiftOp>()) {
    if (shift.getOutside())
      return true;
    elements = shift.getElements();
  }
  if (auto argument = dyn_cast<BlockArgument>(elements)) {
    Operation *parent = argument.getOwner()->getParentOp();
    return parent && !isa<FunctionOpInterface>(parent);
  }
  return !isa_and_nonnull<LocateOp, ScratchOp>(elements.getDefiningOp());
}

/// Returns the address of the element whose number is the sum of the indices.
template <typename Op>
Value addressOf(Op op, typename Op::Adaptor adaptor, bool isOutside, OpBuilder &builder) {
  Location loc = op.getLoc();
  Value number = adaptor.getIndices().front();
  for (Value index : adaptor.getIndices().drop_front())
    number = LLVM::AddOp::create(builder, loc, number, index);
  auto pointer = isOutside ? shiftedPointer : elementPointer;
  return pointer(builder, loc, op.getElements().getType().getElement(), adaptor.getElements(),
                 number);
}

struct LocatePattern : ConvertOpToLLVMPattern<LocateOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(LocateOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type pointer = adaptor.getTable().getType();
    auto index = static_cast<int32_t>(op.getIndex());
    Value entry = elementPointer(rewriter, op.getLoc(), pointer, adaptor.getTable(), index);
    rewriter.replaceOp(
        op, loadElements(rewriter, op.getLoc(), typeConverter->convertType(op.getType()), entry));
    return success();
  }
};

struct ScratchPattern : ConvertOpToLLVMPattern<ScratchOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(ScratchOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    // LLVM keeps an array in registers if it can, but not several allocated elements.
    Type array = LLVM::LLVMArrayType::get(op.getType().getElement(), op.getCount());
    Value one = LLVM::ConstantOp::create(rewriter, op.getLoc(), rewriter.getI64IntegerAttr(1));
    rewriter.replaceOpWithNewOp<LLVM::AllocaOp>(op, typeConverter->convertType(op.getType()), array,
                                                one, /*alignment=*/64);
    return success();
  }
};

struct ShiftPattern : ConvertOpToLLVMPattern<ShiftOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(ShiftOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto shift = isOutside(op) ? shiftedPointer : elementPointer;
    rewriter.replaceOp(op, shift(rewriter, op.getLoc(), op.getType().getElement(),
                                 adaptor.getElements(), adaptor.getOffset()));
    return success();
  }
};

struct ReadPattern : ConvertOpToLLVMPattern<ReadOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(ReadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value address = addressOf(op, adaptor, isOutside(op.getElements()), rewriter);
    rewriter.replaceOp(op, loadElements(rewriter, op.getLoc(), op.getValues().getType(), address,
                                        adaptor.getMask(), op.getAlignment().value_or(0)));
    return success();
  }
};

struct WritePattern : ConvertOpToLLVMPattern<WriteOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(WriteOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value address = addressOf(op, adaptor, isOutside(op.getElements()), rewriter);
    storeElements(rewriter, op.getLoc(), adaptor.getValues(), address, adaptor.getMask(),
                  op.getAlignment().value_or(0));
    rewriter.eraseOp(op);
    return success();
  }
};

struct PrefetchPattern : ConvertOpToLLVMPattern<PrefetchOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(PrefetchOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    constexpr uint32_t toRead = 0, keepInAllCaches = 3, isData = 1;
    Value address = addressOf(op, adaptor, /*isOutside=*/true, rewriter);
    LLVM::Prefetch::create(rewriter, op.getLoc(), address, toRead, keepInAllCaches, isData);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populateAccessToLLVMPatterns(LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  converter.addConversion([](ElementsType type) {
    return LLVM::LLVMPointerType::get(type.getContext(), type.getSpace());
  });
  patterns
      .add<LocatePattern, ScratchPattern, ShiftPattern, ReadPattern, WritePattern, PrefetchPattern>(
          converter);
}

} // namespace updraft
