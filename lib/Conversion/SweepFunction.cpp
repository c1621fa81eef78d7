//===- SweepFunction.cpp - R_sweep0: a function for one sweep over tensors --------------------===//
// Builds the function, and the loads of its arguments.

#include "StorageTypes.h"
#include "SweepBuilder.h"
#include "ValueNames.h"
#include "VectorBody.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace updraft {

SweepBuilder::SweepBuilder(const OpBuilder &outer, const PlanInterface &interface, SweepOp sweep,
                           LoopShape shape)
    : SweepAccess(outer, interface, sweep, {shape.lanes}), maskRemainder(shape.maskRemainder) {}

LogicalResult SweepBuilder::build(unsigned index) {
  if (failed(checkVectorizable(sweep)))
    return failure();
  findStreams();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  std::string name = (interface.plan.getSymName() + "_sweep" + Twine(index)).str();
  auto function = func::FuncOp::create(
      builder, loc, name,
      builder.getFunctionType({pointer, pointer, pointer, i64, pointer, pointer}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  nameArguments(function, {"row", "streams", "ranges", "count", "partials", "sites"});

  // bf16 is cheapest to convert two at a time: the even and the odd elements of a vector.
  pairs = computesBFloat16Pairs(sweep, interface.compute, vectorLanes);
  elementsPerVector = pairs ? 2 * vectorLanes : vectorLanes;
  auto module = function->getParentOfType<ModuleOp>();
  for (const ReductionAccess &access : reductions) {
    std::optional<LaneAccumulator> &sums = lanes.emplace_back();
    if (access.hasLanes())
      sums.emplace(builder, loc, module, access.reduction.getKind());
  }
  makeBlockMemory();
  loadScalars(function.getArgument(0));
  tensorLoop(function.getArguments());
  func::ReturnOp::create(builder, loc);
  return success();
}

LogicalResult buildSweepFunction(OpBuilder &builder, const PlanInterface &interface, SweepOp sweep,
                                 unsigned index, LoopShape shape) {
  return SweepBuilder(builder, interface, sweep, shape).build(index);
}

} // namespace updraft
