//===- HostFunctions.cpp - R_initial, R_validate and R_prologue0 ------------------------------===//
// Builds the host functions of a plan: inlines their regions between loads of the arguments and
// stores of the results.

#include "KernelFunctions.h"
#include "ScalarCode.h"
#include "ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "updraft/Conversion/StateList.h"

using namespace mlir;

namespace updraft {

/// Creates a function of the plan whose name ends with `suffix`, and moves to its start.
static func::FuncOp startFunction(OpBuilder &builder, const PlanInterface &interface,
                                  const Twine &suffix, ArrayRef<StringRef> pointers,
                                  TypeRange results) {
  Location loc = unnamed(interface.plan.getLoc());
  SmallVector<Type> inputs(pointers.size(), LLVM::LLVMPointerType::get(builder.getContext()));
  auto function = func::FuncOp::create(builder, loc, (interface.plan.getSymName() + suffix).str(),
                                       builder.getFunctionType(inputs, results));
  // The function runs once per step on scalars. Optimising it would cost more time than it saves.
  function->setAttr("passthrough", builder.getStrArrayAttr({"optnone", "noinline"}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  nameArguments(function, pointers);
  return function;
}

void buildInitialFunction(OpBuilder &builder, const PlanInterface &interface) {
  OpBuilder::InsertionGuard guard(builder);
  auto function = startFunction(builder, interface, "_initial", {"hyper", "initial"}, TypeRange());
  ScalarCode code(builder, interface, {function.getArgument(0)});
  auto valuesOf = [&](PlanOp plan) {
    SmallVector<Value> values;
    for (InitialOp op : plan.getBody().getOps<InitialOp>())
      llvm::append_range(values, code.inlineBody(op));
    return values;
  };
  PlanOp matrix = matrixPlanOf(interface.plan);
  SmallVector<Value> first = valuesOf(interface.plan);
  SmallVector<Value> ofMatrix = matrix ? valuesOf(matrix) : SmallVector<Value>();
  for (auto [index, state] : llvm::enumerate(statesOf(interface.plan, matrix))) {
    Value value = state.inFirst ? first[*state.inFirst] : ofMatrix[*state.inMatrix];
    code.store(unnamed(state.loc), value.getType(), value, function.getArgument(1), index);
  }
  func::ReturnOp::create(builder, function.getLoc());
}

void buildValidateFunction(OpBuilder &builder, const PlanInterface &interface) {
  OpBuilder::InsertionGuard guard(builder);
  auto function = startFunction(builder, interface, "_validate", {"hyper"}, builder.getI32Type());
  Location loc = function.getLoc();
  ScalarCode code(builder, interface, {function.getArgument(0)});
  SmallVector<Value> conditions;
  for (ValidateOp op : interface.plan.getBody().getOps<ValidateOp>())
    llvm::append_range(conditions, code.inlineBody(op));
  auto constant = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  };
  // Goes from the last to the first, so that the first broken requirement wins.
  Value result = constant(-1);
  for (auto index = static_cast<int32_t>(conditions.size()); index-- > 0;)
    result = arith::SelectOp::create(builder, unnamed(conditions[index].getLoc()),
                                     conditions[index], result, constant(index));
  func::ReturnOp::create(builder, loc, result);
}

SmallVector<PrologueOp> prologuesOf(PlanOp plan) {
  auto prologues = llvm::to_vector(plan.getBody().getOps<PrologueOp>());
  if (prologues.empty())
    prologues.push_back({});
  return prologues;
}

void buildPrologueFunction(OpBuilder &builder, const PlanInterface &interface, PrologueOp prologue,
                           unsigned index, unsigned lanes) {
  OpBuilder::InsertionGuard guard(builder);
  auto function = startFunction(
      builder, interface, "_prologue" + Twine(index),
      {"hyper", "per_tensor", "reduced", "scalars", "row", "next_scalars"}, TypeRange());
  auto argument = [&](unsigned number) { return function.getArgument(number); };
  ScalarCode(builder, interface,
             {argument(0), argument(1), argument(2), argument(3), argument(4), argument(5)})
      .runPrologue(prologue, index, lanes);
  func::ReturnOp::create(builder, function.getLoc());
}

} // namespace updraft
