//===- HostFunctions.cpp - R_initial, R_validate and R_prologue0 ------------------------------===//
// The host functions of a plan: their regions inlined between loads of the arguments and stores of
// the results.

#include "KernelFunctions.h"
#include "KernelMemory.h"
#include "ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "updraft-c/kernel.h"
#include "updraft/Conversion/StateList.h"
#include "updraft/Conversion/StorageConversion.h"

using namespace mlir;

namespace updraft {
namespace {

/// Inlines regions of the plan into one function, where each value of the plan is loaded once.
class HostFunction {
public:
  HostFunction(OpBuilder &outer, const PlanInterface &interface, StringRef suffix,
               ArrayRef<StringRef> pointers, TypeRange results)
      : builder(outer), interface(interface), loc(unnamed(interface.plan.getLoc())) {
    SmallVector<Type> inputs(pointers.size(), LLVM::LLVMPointerType::get(builder.getContext()));
    std::string name = (interface.plan.getSymName() + suffix).str();
    function = func::FuncOp::create(builder, loc, name, builder.getFunctionType(inputs, results));
    // It runs once per step on scalars: optimising it would cost more time than it ever saves.
    function->setAttr("passthrough", builder.getStrArrayAttr({"optnone", "noinline"}));
    builder.setInsertionPointToStart(function.addEntryBlock());
    nameArguments(function, pointers);
  }

  Value argument(unsigned index) { return function.getArgument(index); }

  /// Clones the body of `op`, and returns what it yields.
  template <typename Op> SmallVector<Value> inlineBody(Op op) {
    IRMapping map;
    Block &body = op.getBody().front();
    for (auto [inner, outer] : llvm::zip_equal(body.getArguments(), op.getInputs()))
      map.map(inner, valueOf(outer));
    for (Operation &inner : body.without_terminator())
      builder.clone(inner, map);
    return llvm::map_to_vector(body.getTerminator()->getOperands(),
                               [&](Value value) { return map.lookup(value); });
  }

  void store(Type element, Value value, Value base, unsigned index) {
    storeElements(builder, loc, value,
                  elementPointer(builder, loc, element, base, static_cast<int32_t>(index)));
  }

  void finish(ValueRange results = {}) { func::ReturnOp::create(builder, loc, results); }

  OpBuilder builder;

private:
  Value loadF64(Location name, Value base, unsigned index) {
    Type f64 = builder.getF64Type();
    return loadElements(builder, name, f64,
                        elementPointer(builder, loc, f64, base, static_cast<int32_t>(index)));
  }

  Value loadFact(Location name, unsigned index) { return loadF64(name, argument(1), index); }

  static unsigned factOf(SizeOp size) {
    switch (size.getOver()) {
    case Extent::row:
      return UPD_TENSOR_COLUMNS;
    case Extent::column:
      return UPD_TENSOR_ROWS;
    case Extent::group:
      return UPD_TENSOR_GROUP_SIZE;
    default:
      return UPD_TENSOR_SIZE;
    }
  }

  // The arguments are those of a prologue; the others have its first ones.
  Value load(Value planValue) {
    Location name = planValue.getLoc();
    Operation *op = planValue.getDefiningOp();
    if (isa<HyperOp>(op))
      return loadF64(name, argument(0), interface.hyperIndex.lookup(planValue));
    if (isa<StepOp>(op))
      return loadFact(name, UPD_TENSOR_STEP);
    if (auto size = dyn_cast<SizeOp>(op))
      return loadFact(name, factOf(size));
    if (isa<PassOp>(op))
      return loadF64(name, argument(2), interface.reducedIndex.lookup(planValue));
    if (isa<ScalarOp>(op))
      return loadF64(name, argument(3), interface.scalarIndex.lookup(planValue));
    // FirstOp: the dialect has no other scalar of a plan.
    Value zero = arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(0));
    return arith::CmpFOp::create(builder, name, arith::CmpFPredicate::UNE,
                                 loadFact(loc, UPD_TENSOR_FIRST), zero);
  }

  Value valueOf(Value planValue) {
    if (Value known = values.lookup(planValue))
      return known;
    return values[planValue] = load(planValue);
  }

  const PlanInterface &interface;
  Location loc;
  func::FuncOp function;
  llvm::DenseMap<Value, Value> values;
};

} // namespace

void buildInitialFunction(OpBuilder &builder, const PlanInterface &interface) {
  HostFunction function(builder, interface, "_initial", {"hyper", "initial"}, TypeRange());
  auto valuesOf = [&](PlanOp plan) {
    SmallVector<Value> values;
    for (InitialOp op : plan.getBody().getOps<InitialOp>())
      llvm::append_range(values, function.inlineBody(op));
    return values;
  };
  PlanOp matrix = matrixPlanOf(interface.plan);
  SmallVector<Value> first = valuesOf(interface.plan);
  SmallVector<Value> ofMatrix = matrix ? valuesOf(matrix) : SmallVector<Value>();
  for (auto [index, state] : llvm::enumerate(statesOf(interface.plan, matrix))) {
    Value value = state.inFirst ? first[*state.inFirst] : ofMatrix[*state.inMatrix];
    function.store(value.getType(), value, function.argument(1), index);
  }
  function.finish();
}

void buildValidateFunction(OpBuilder &builder, const PlanInterface &interface) {
  Location loc = unnamed(interface.plan.getLoc());
  HostFunction function(builder, interface, "_validate", {"hyper"}, builder.getI32Type());
  SmallVector<Value> conditions;
  for (ValidateOp op : interface.plan.getBody().getOps<ValidateOp>())
    llvm::append_range(conditions, function.inlineBody(op));
  OpBuilder &inner = function.builder;
  auto constant = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(inner, loc, inner.getI32IntegerAttr(value));
  };
  // From the last to the first, so that the first that is broken wins.
  Value result = constant(-1);
  for (auto index = static_cast<int32_t>(conditions.size()); index-- > 0;)
    result = arith::SelectOp::create(inner, loc, conditions[index], result, constant(index));
  function.finish(result);
}

// As it is after it was stored.
static Value roundToStorage(OpBuilder &builder, Location loc, Value value, Type storage) {
  const StorageConversion *conversion = StorageConversion::find(storage);
  return conversion->widen(builder, loc, conversion->narrow(builder, loc, value),
                           builder.getF64Type());
}

void buildPrologueFunction(OpBuilder &builder, const PlanInterface &interface, PrologueOp prologue,
                           unsigned index) {
  Location loc = unnamed(interface.plan.getLoc());
  Type compute = interface.compute;
  HostFunction function(builder, interface, ("_prologue" + Twine(index)).str(),
                        {"hyper", "per_tensor", "reduced", "scalars", "row", "next_scalars"},
                        TypeRange());
  OpBuilder &inner = function.builder;
  Value row = function.argument(4), nextScalars = function.argument(5);
  if (index == 0) {
    Value zero = arith::ConstantOp::create(inner, loc, inner.getFloatAttr(compute, 0));
    function.store(compute, zero, row, 0);
  }
  if (prologue) {
    SmallVector<Value> yielded = function.inlineBody(prologue);
    for (auto [result, value] : llvm::zip_equal(prologue.getResults(), yielded)) {
      if (ScalarOp scalar = interface.nextScalars.lookup(result)) {
        Value rounded = roundToStorage(inner, loc, value, scalar.getStorage());
        function.store(inner.getF64Type(), rounded, nextScalars,
                       interface.scalarIndex.lookup(scalar.getResult()));
        continue;
      }
      Value stored = value;
      if (value.getType().isInteger(1))
        stored = arith::UIToFPOp::create(inner, loc, compute, value);
      function.store(compute, stored, row, interface.rowIndex.lookup(result));
    }
  }
  function.finish();
}

} // namespace updraft
