//===- PlanToGPU.cpp - From a plan to the kernels of a GPU ------------------------------------===//
// Replaces the plans of a module by the host functions of updraft-c/kernel.h that steps don't call,
// and by a `gpu.module` with the kernels of updraft-c/gpu_kernel.h.

#include "../KernelFunctions.h"
#include "GPUKernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "updraft/Conversion/Passes.h"
#include "updraft/Conversion/StateList.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_CONVERTPLANTOGPUPASS
#include "updraft/Conversion/Passes.h.inc"

namespace {

/// Whether the host computes functions of matrices in some steps only.
bool hasHostConditions(PlanOp plan) {
  return llvm::any_of(plan.getBody().getOps<CallOp>(),
                      [](CallOp call) { return call.getCondition() && call.isOfHost(); });
}

struct ConvertPlanToGPUPass : impl::ConvertPlanToGPUPassBase<ConvertPlanToGPUPass> {
  using ConvertPlanToGPUPassBase::ConvertPlanToGPUPassBase;

  void runOnOperation() override {
    SmallVector<PlanOp> plans = formsIn<PlanOp>(getOperation());
    if (plans.empty())
      return;
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto kernels = gpu::GPUModuleOp::create(builder, getOperation().getLoc(), "kernels");
    // Converting a plan may read the other plan of its rule, so plans are erased at the end.
    for (PlanOp plan : plans)
      if (failed(convert(plan, kernels)))
        return signalPassFailure();
    erasePlans(getOperation());
  }

  LogicalResult convert(PlanOp plan, gpu::GPUModuleOp kernels) {
    if (accessBits != 128 && accessBits != 256)
      return plan.emitOpError() << "cannot be lowered to accesses of " << accessBits.getValue()
                                << " bits, must be 128 or 256";
    FailureOr<PlanInterface> interface = PlanInterface::of(plan);
    if (failed(interface))
      return failure();
    OpBuilder host(placeOf(plan));
    if (hasRuleFunctions(plan)) {
      buildInitialFunction(host, *interface);
      buildValidateFunction(host, *interface);
    }
    if (hasHostConditions(plan))
      buildPrologueFunction(host, *interface, prologuesOf(plan).front(), 0, /*lanes=*/1);
    OpBuilder builder = OpBuilder::atBlockEnd(kernels.getBody());
    for (auto [index, prologue] : llvm::enumerate(prologuesOf(plan)))
      buildPrologueKernel(builder, *interface, prologue, index);
    for (auto [index, sweep] : llvm::enumerate(plan.getBody().getOps<SweepOp>()))
      if (failed(buildSweepKernel(builder, *interface, sweep, index, accessBits / 8)))
        return failure();
    return success();
  }
};

} // namespace
} // namespace updraft
