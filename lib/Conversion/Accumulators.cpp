//===- Accumulators.cpp - The lanes that a reduction adds to ----------------------------------===//
// The lanes are in memory. An iteration adds to a few lanes and returns to the same ones only after
// all others, so their stores have long finished. Operations on all lanes are separate functions:
// inlined at each use, they would take longer to compile than the rest of a sweep.

#include "Accumulators.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "updraft-c/kernel.h"

using namespace mlir;

namespace updraft {

constexpr int64_t groupLanes = 8;
/// Rows and leaves of so many elements are common.
constexpr int64_t fewLanes = 32;

static Value constantI64(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
}

Value reductionIdentity(OpBuilder &builder, Location loc, ReductionKind kind, Type type) {
  TypedAttr identity = builder.getF64FloatAttr(
      kind == ReductionKind::max ? -std::numeric_limits<double>::infinity() : 0.0);
  if (auto vector = dyn_cast<VectorType>(type))
    identity = DenseElementsAttr::get(vector, Attribute(identity));
  return arith::ConstantOp::create(builder, loc, type, identity);
}

/// Whether a value is a product in f64 of two values that were f32 or narrower. Its 48 bits or less
/// fit f64, so that it isn't rounded.
static bool isExactProduct(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  return product && getElementTypeOrSelf(value).isF64() &&
         llvm::all_of(product->getOperands(), [](Value factor) {
           return factor.getDefiningOp<arith::ExtFOp>() != nullptr;
         });
}

Value combineReduced(OpBuilder &builder, Location loc, ReductionKind kind, Value left,
                     Value right) {
  if (kind == ReductionKind::max)
    return arith::MaximumFOp::create(builder, loc, left, right);
  auto sum = arith::AddFOp::create(builder, loc, left, right);
  // A fused multiply-add then has the bits of the two operations.
  if (isExactProduct(right))
    for (Operation *fusible : {right.getDefiningOp(), sum.getOperation()})
      fusible->setAttr("fastmath", arith::FastMathFlagsAttr::get(builder.getContext(),
                                                                 arith::FastMathFlags::contract));
  return sum;
}

void accumulate(OpBuilder &builder, Location loc, ReductionKind kind, Value values,
                const ElementPlace &place, Value mask) {
  const auto &[elements, indices] = place;
  Value before = ReadOp::create(builder, loc, values.getType(), elements, indices, mask);
  Value after = combineReduced(builder, loc, kind, before, values);
  WriteOp::create(builder, loc, after, elements, indices, mask);
}

Value usesFewLanes(OpBuilder &builder, Location loc, Value length, unsigned vectorLanes) {
  const int64_t most = vectorLanes <= fewLanes ? fewLanes : 0;
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, length,
                               constantI64(builder, loc, most));
}

namespace {

/// Marks the functions below, so that no other function of a module is mistaken for one.
constexpr llvm::StringLiteral laneFunctionAttr = "updraft.lanes";

/// Builds the functions on the lanes of one kind of reduction.
class LaneFunctions {
public:
  LaneFunctions(ModuleOp module, ReductionKind kind)
      : builder(module.getContext()), loc(module.getLoc()), module(module), kind(kind),
        type(VectorType::get(groupLanes, builder.getF64Type())) {}

  /// reset(lanes): sets all lanes to the identity.
  func::FuncOp reset() {
    return find("updraft.reset.", {}, {}, [&](func::FuncOp function) {
      lanes = function.getArgument(0);
      Value one = constantI64(builder, loc, 1);
      auto loop = scf::ForOp::create(builder, loc, constantI64(builder, loc, 0),
                                     constantI64(builder, loc, UPD_LANES / groupLanes), one);
      func::ReturnOp::create(builder, loc);
      builder.setInsertionPointToStart(loop.getBody());
      resetGroup(placeOf(loop.getInductionVar()));
    });
  }

  /// take(lanes, few): returns the total of all lanes and resets them to the identity. With `few`,
  /// only the first lanes are in use.
  func::FuncOp take() {
    return find("updraft.take.", builder.getI1Type(), builder.getF64Type(),
                [&](func::FuncOp function) {
                  lanes = function.getArgument(0);
                  auto choice = scf::IfOp::create(builder, loc, builder.getF64Type(),
                                                  function.getArgument(1), /*withElseRegion=*/true);
                  func::ReturnOp::create(builder, loc, choice.getResult(0));
                  takeFirst(fewLanes / groupLanes, choice.thenBlock());
                  takeFirst(UPD_LANES / groupLanes, choice.elseBlock());
                });
  }

private:
  /// Returns the function with that name, of the lanes and arguments of the types `more`. Creates
  /// it if needed, with a body from `fill`.
  func::FuncOp find(StringRef prefix, TypeRange more, TypeRange results,
                    function_ref<void(func::FuncOp)> fill) {
    SmallVector<Type> inputs = {ElementsType::get(builder.getF64Type())};
    llvm::append_range(inputs, more);
    FunctionType functionType = builder.getFunctionType(inputs, results);
    // An unrelated function of the module may have the name.
    std::string name = (prefix + stringifyReductionKind(kind)).str();
    while (Operation *known = module.lookupSymbol(name)) {
      auto function = dyn_cast<func::FuncOp>(known);
      if (function && function->hasAttr(laneFunctionAttr) &&
          function.getFunctionType() == functionType)
        return function;
      name += '_';
    }
    builder.setInsertionPointToStart(module.getBody());
    auto function = func::FuncOp::create(builder, loc, name, functionType);
    function.setPrivate();
    function->setAttr(laneFunctionAttr, builder.getUnitAttr());
    function->setAttr("llvm.linkage",
                      LLVM::LinkageAttr::get(builder.getContext(), LLVM::Linkage::Internal));
    builder.setInsertionPointToStart(function.addEntryBlock());
    fill(function);
    return function;
  }

  ElementPlace placeOf(Value group) {
    Value lane = arith::MulIOp::create(builder, loc, group, constantI64(builder, loc, groupLanes));
    return {lanes, {lane}};
  }

  Value readGroup(const ElementPlace &place) {
    return ReadOp::create(builder, loc, type, place.elements, place.indices);
  }

  void resetGroup(const ElementPlace &place) {
    WriteOp::create(builder, loc, reductionIdentity(builder, loc, kind, type), place.elements,
                    place.indices);
  }

  // Adds the upper half of the first groups to the lower half, then does the same within the lower
  // half.
  void takeFirst(int64_t count, Block *block) {
    builder.setInsertionPointToStart(block);
    SmallVector<Value> sums;
    for (int64_t group = 0; group < count; ++group) {
      ElementPlace place = placeOf(constantI64(builder, loc, group));
      sums.push_back(readGroup(place));
      resetGroup(place);
    }
    for (int64_t half = count / 2; half >= 1; half /= 2)
      for (int64_t group = 0; group < half; ++group)
        sums[group] = combineReduced(builder, loc, kind, sums[group], sums[group + half]);
    scf::YieldOp::create(builder, loc, totalOf(sums.front()));
  }

  // The same within one group.
  Value totalOf(Value sums) {
    for (int64_t count = groupLanes / 2; count >= 1; count /= 2) {
      auto part = [&](int64_t first) -> Value {
        return vector::ShuffleOp::create(builder, loc, sums, sums,
                                         llvm::to_vector(llvm::seq(first, first + count)));
      };
      Value low = part(0), high = part(count);
      sums = combineReduced(builder, loc, kind, low, high);
    }
    return vector::ExtractOp::create(builder, loc, sums, 0);
  }

  OpBuilder builder;
  Location loc;
  ModuleOp module;
  ReductionKind kind;
  Type type; ///< of a group
  Value lanes;
};

} // namespace

LaneAccumulator::LaneAccumulator(OpBuilder &builder, Location loc, ModuleOp module,
                                 ReductionKind kind)
    : kind(kind) {
  LaneFunctions functions(module, kind);
  takeFunction = functions.take();
  lanes = ScratchOp::create(builder, loc, ElementsType::get(builder.getF64Type()), UPD_LANES);
  func::CallOp::create(builder, loc, functions.reset(), lanes);
}

/// If each value is 1 where a condition holds, else 0, returns the condition.
static Value countedBy(OpBuilder &builder, Location loc, Value values) {
  if (auto extended = values.getDefiningOp<arith::ExtFOp>())
    values = extended.getIn();
  auto choice = values.getDefiningOp<arith::SelectOp>();
  if (!choice ||
      isa<VectorType>(choice.getCondition().getType()) != isa<VectorType>(values.getType()))
    return {};
  Value condition = choice.getCondition(), yes = choice.getTrueValue(), no = choice.getFalseValue();
  if (matchPattern(yes, m_OneFloat()) && matchPattern(no, m_AnyZeroFloat()))
    return condition;
  if (!matchPattern(yes, m_AnyZeroFloat()) || !matchPattern(no, m_OneFloat()))
    return {};
  Value holds = arith::ConstantOp::create(builder, loc, builder.getOneAttr(condition.getType()));
  return arith::XOrIOp::create(builder, loc, condition, holds);
}

/// Returns how many elements of a vector of i1 are true, as a vector of one f64.
static Value countTrue(OpBuilder &builder, Location loc, Value vector) {
  const auto lanes = cast<VectorType>(vector.getType()).getNumElements();
  auto single = [](Type type) { return VectorType::get(1, type); };
  Type bits = single(builder.getIntegerType(static_cast<unsigned>(lanes)));
  Value word = vector::BitCastOp::create(builder, loc, bits, vector);
  if (lanes < 64)
    word = arith::ExtUIOp::create(builder, loc, single(builder.getI64Type()), word);
  Value count = math::CtPopOp::create(builder, loc, word);
  return arith::SIToFPOp::create(builder, loc, single(builder.getF64Type()), count);
}

void LaneAccumulator::add(OpBuilder &builder, Location loc, Value lane, Value values, Value mask) {
  // A sum of counts is exact in any order, so one lane has it.
  Value counted = kind == ReductionKind::sum ? countedBy(builder, loc, values) : Value();
  isCount = isCount && counted;
  if (counted) {
    assert((!mask || isa<VectorType>(counted.getType())) && "a mask is of a vector's lanes");
    if (mask)
      counted = arith::AndIOp::create(builder, loc, counted, mask);
    if (isa<VectorType>(counted.getType()))
      values = countTrue(builder, loc, counted);
    return accumulate(builder, loc, kind, values, {lanes, {constantI64(builder, loc, 0)}});
  }
  // A sum is never -0, so the identity doesn't change a lane. Storing all lanes is cheaper than
  // storing some, and later loads of the stored lanes don't stall.
  if (mask)
    values = arith::SelectOp::create(builder, loc, mask, values,
                                     reductionIdentity(builder, loc, kind, values.getType()));
  accumulate(builder, loc, kind, values, {lanes, {lane}});
}

Value LaneAccumulator::take(OpBuilder &builder, Location loc, Value few) const {
  if (isCount)
    few = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  func::FuncOp callee = takeFunction;
  return func::CallOp::create(builder, loc, callee, ValueRange{lanes, few}).getResult(0);
}

} // namespace updraft
