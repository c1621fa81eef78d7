//===- PlanToLoops.cpp - From a plan to functions with vector loops ---------------------------===//
// Replaces each plan of a module by the functions of updraft-c/kernel.h.

#include "KernelFunctions.h"
#include "ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "updraft/Conversion/Passes.h"
#include "updraft/Conversion/Product.h"
#include "updraft/Conversion/StateList.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_CONVERTPLANTOLOOPSPASS
#include "updraft/Conversion/Passes.h.inc"

namespace {

struct ConvertPlanToLoopsPass : impl::ConvertPlanToLoopsPassBase<ConvertPlanToLoopsPass> {
  using ConvertPlanToLoopsPassBase::ConvertPlanToLoopsPassBase;

  void runOnOperation() override {
    // Converting a plan may read the other plan of its rule, so plans are erased at the end.
    for (PlanOp plan : formsIn<PlanOp>(getOperation()))
      if (failed(convert(plan)))
        return signalPassFailure();
    buildProducts();
    erasePlans(getOperation());
  }

  /// Builds the functions of products if a plan has some. They are named after the rule.
  void buildProducts() {
    PlanOp named;
    bool multiplies = false, hasBF16Products = false;
    ProductEpilogue epilogue;
    for (PlanOp plan : formsIn<PlanOp>(getOperation())) {
      if (hasRuleFunctions(plan))
        named = plan;
      multiplies |= plan.multiplies();
      for (auto product : plan.getBody().getOps<MultiplyOp>()) {
        hasBF16Products |= product.getOperandFormat() == OperandFormat::bf16;
        epilogue.hasTargets |= static_cast<bool>(product.getTarget());
        if (product.getAddend() || product.getTarget())
          epilogue.addends = plan.getFast() ? Addends::Fused : Addends::Rounded;
      }
    }
    if (!multiplies)
      return;
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    builder.setInsertionPoint(placeOf(named));
    ProductTarget target{vectorBits, vectorRegisters, interleaveBits, maskRemainder, dot};
    const auto tiles = ProductTiles::choose(named.getCompute(), target);
    buildProductFunctions(builder, unnamed(named.getLoc()), named.getSymName(), named.getCompute(),
                          tiles, epilogue);
    if (hasBF16Products)
      buildBF16ProductFunctions(builder, unnamed(named.getLoc()), named.getSymName(),
                                named.getCompute(), tiles, dot, epilogue);
  }

  LogicalResult convert(PlanOp plan) {
    FailureOr<PlanInterface> interface = PlanInterface::of(plan);
    if (failed(interface))
      return failure();
    unsigned computeBits = interface->compute.getIntOrFloatBitWidth();
    if (!llvm::isPowerOf2_32(vectorBits) || vectorBits < 64 || vectorBits > 2048)
      return plan.emitOpError() << "cannot be lowered to vectors of " << vectorBits.getValue()
                                << " bits, must be a power of two from 64 to 2048";
    LoopShape shape{std::max(1u, vectorBits / computeBits), maskRemainder};
    if (shape.lanes == 1)
      shape.maskRemainder = false;

    OpBuilder builder(placeOf(plan));
    if (hasRuleFunctions(plan)) {
      buildInitialFunction(builder, *interface);
      buildValidateFunction(builder, *interface);
    }
    for (auto [index, prologue] : llvm::enumerate(prologuesOf(plan)))
      buildPrologueFunction(builder, *interface, prologue, index, shape.lanes);
    for (auto [index, sweep] : llvm::enumerate(plan.getBody().getOps<SweepOp>()))
      if (failed(buildSweepFunction(builder, *interface, sweep, index, shape)))
        return failure();
    return success();
  }
};

} // namespace
} // namespace updraft
