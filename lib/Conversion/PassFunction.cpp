//===- PassFunction.cpp - R_pass0: a function for one pass over tensors -----------------------===//
// Builds the function, and the loads of its arguments.

#include "KernelMemory.h"
#include "PassBuilder.h"
#include "StorageTypes.h"
#include "ValueNames.h"
#include "VectorBody.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "updraft-c/kernel.h"

using namespace mlir;

namespace updraft {

PassBuilder::PassBuilder(const OpBuilder &outer, const PlanInterface &interface, PassOp pass,
                         LoopShape shape)
    : PassAccess(outer, interface, pass, shape.lanes), maskRemainder(shape.maskRemainder) {}

LogicalResult PassBuilder::build(unsigned index) {
  if (failed(checkVectorizable(pass)) || failed(findStreams()))
    return failure();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  std::string name = (interface.plan.getSymName() + "_pass" + Twine(index)).str();
  auto function = func::FuncOp::create(
      builder, loc, name,
      builder.getFunctionType({pointer, pointer, pointer, i64, pointer, pointer}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  nameArguments(function, {"row", "streams", "ranges", "count", "partials", "sites"});

  // bf16 is cheapest to convert two at a time: the even and the odd elements of a vector.
  pairs = computesBFloat16Pairs(pass, interface.compute, vectorLanes);
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

LogicalResult buildPassFunction(OpBuilder &builder, const PlanInterface &interface, PassOp pass,
                                unsigned index, LoopShape shape) {
  return PassBuilder(builder, interface, pass, shape).build(index);
}

} // namespace updraft
