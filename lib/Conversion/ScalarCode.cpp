//===- ScalarCode.cpp - The regions of a plan that compute scalars ----------------------------===//

#include "ScalarCode.h"

#include "KernelMemory.h"
#include "StorageTypes.h"
#include "ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "updraft-c/kernel.h"
#include "updraft/Conversion/StorageConversion.h"

using namespace mlir;

namespace updraft {

ScalarCode::ScalarCode(OpBuilder &builder, const PlanInterface &interface,
                       const ScalarArguments &arguments)
    : builder(builder), interface(interface), loc(unnamed(interface.plan.getLoc())),
      arguments(arguments) {}

Value ScalarCode::loadF64(Location name, Value base, unsigned index) {
  Type f64 = builder.getF64Type();
  return loadElements(builder, name, f64,
                      elementPointer(builder, loc, f64, base, static_cast<int32_t>(index)));
}

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

Value ScalarCode::load(Value planValue) {
  Location name = planValue.getLoc();
  Operation *op = planValue.getDefiningOp();
  if (isa<HyperOp>(op))
    return loadF64(name, arguments.hyper, interface.hyperIndex.lookup(planValue));
  if (isa<StepOp>(op))
    return loadF64(name, arguments.perTensor, UPD_TENSOR_STEP);
  if (auto size = dyn_cast<SizeOp>(op))
    return loadF64(name, arguments.perTensor, factOf(size));
  if (isa<SweepOp>(op))
    return loadF64(name, arguments.reduced, interface.reducedIndex.lookup(planValue));
  if (isa<ScalarOp>(op))
    return loadF64(name, arguments.scalars, interface.scalarIndex.lookup(planValue));
  // FirstOp: the only other scalar of a plan.
  Value zero = arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(0));
  return arith::CmpFOp::create(builder, name, arith::CmpFPredicate::UNE,
                               loadF64(loc, arguments.perTensor, UPD_TENSOR_FIRST), zero);
}

Value ScalarCode::valueOf(Value planValue) {
  if (Value known = values.lookup(planValue))
    return known;
  return values[planValue] = load(planValue);
}

void ScalarCode::store(Location loc, Type element, Value value, Value base, unsigned index) {
  storeElements(builder, loc, value,
                elementPointer(builder, loc, element, base, static_cast<int32_t>(index)));
}

// Returns the value as it is after a store.
static Value roundToStorage(OpBuilder &builder, Location loc, Value value, Type storage) {
  const StorageConversion *conversion = StorageConversion::find(storage);
  return conversion->widen(builder, loc, conversion->narrow(builder, loc, value),
                           builder.getF64Type());
}

// Whether a sweep rounds values computed from `result` to bf16 without checking for NaN.
static bool isForBFloat16Pairs(Value result, Type compute, unsigned lanes) {
  return llvm::any_of(result.getUsers(), [&](Operation *user) {
    auto sweep = dyn_cast<SweepOp>(user);
    return sweep && computesBFloat16Pairs(sweep, compute, lanes);
  });
}

// Returns the operation that keeps the results of prologues as scalar states.
static CommitOp commitOf(PlanOp plan) { return *plan.getBody().getOps<CommitOp>().begin(); }

void ScalarCode::runPrologue(PrologueOp prologue, unsigned index, unsigned lanes) {
  Type compute = interface.compute;
  if (index == 0) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getFloatAttr(compute, 0));
    store(loc, compute, zero, arguments.row, 0);
  }
  if (!prologue)
    return;
  SmallVector<Value> yielded = inlineBody(prologue);
  for (auto [result, value] : llvm::zip_equal(prologue.getResults(), yielded)) {
    if (ScalarOp scalar = interface.nextScalars.lookup(result)) {
      const Location place = locationOf(commitOf(interface.plan).getLoc(), scalar.getName());
      Value rounded = roundToStorage(builder, place, value, scalar.getStorage());
      store(place, builder.getF64Type(), rounded, arguments.nextScalars,
            interface.scalarIndex.lookup(scalar.getResult()));
      continue;
    }
    const Location place = unnamed(value.getLoc());
    if (auto probe = interface.probeIndex.find(result); probe != interface.probeIndex.end()) {
      store(place, builder.getF64Type(), value, arguments.nextScalars,
            interface.scalarIndex.size() + probe->second);
      continue;
    }
    Value stored = value;
    if (value.getType().isInteger(1))
      stored = arith::UIToFPOp::create(builder, place, compute, value);
    else if (isForBFloat16Pairs(result, compute, lanes))
      stored = shortenNaN(builder, place, value);
    store(place, compute, stored, arguments.row, interface.rowIndex.lookup(result));
  }
}

} // namespace updraft
