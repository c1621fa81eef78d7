//===- PassFunction.cpp - R_pass0: the loop over the elements of tensors ----------------------===//
// A loop over tensors, and in it a loop of whole vectors, then what is left: one iteration with
// masked accesses, or a loop of single elements. Vectors are explicit, so no later analysis decides
// about them; an iteration loads all that it reads before it stores, so streams may be the same
// tensor.

#include "KernelFunctions.h"
#include "KernelMemory.h"
#include "StorageTypes.h"
#include "ValueNames.h"
#include "VectorBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "updraft/Conversion/StorageConversion.h"

using namespace mlir;

namespace updraft {
namespace {

/// A stream of the pass: what is in it, and where it starts.
struct StreamAccess {
  Value stream; ///< of the plan
  const StorageConversion *storage;
  Value base; ///< the address of the tensor's first element
};

class PassBuilder {
public:
  PassBuilder(const OpBuilder &outer, const PlanInterface &interface, PassOp pass, LoopShape shape)
      : builder(outer), interface(interface), pass(pass), loc(unnamed(pass.getLoc())), shape(shape),
        i64(builder.getI64Type()) {}

  LogicalResult build(unsigned index);

private:
  Value constantI64(int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  }
  void loadScalars(Value row);
  LogicalResult findStorages(ValueRange streams, SmallVectorImpl<StreamAccess> &result);
  void loadBases(Value pointers);
  void rangeLoop(Value pointers, Value ranges, Value count, ValueRange splats);
  Value splat(Value scalar, unsigned lanes);
  SmallVector<Value> splatScalars(unsigned lanes);
  bool canPairElements() const;
  Value addressOf(const StreamAccess &stream, Value index);
  void computeAt(Value index, unsigned lanes, ValueRange splats, Value mask = {});
  void computePairsAt(Value index, ValueRange splats, Value mask = {});
  void computeVectorAt(Value index, ValueRange splats, Value mask = {});
  void vectorLoop(Value lower, Value upper, ValueRange splats);
  void scalarLoop(Value lower, Value upper);
  void maskedRemainder(Value start, Value count, ValueRange splats);

  OpBuilder builder;
  const PlanInterface &interface;
  PassOp pass;
  Location loc;
  LoopShape shape;
  Type i64;
  SmallVector<Value> scalars;
  SmallVector<StreamAccess> reads, writes;
  bool pairs = false;        ///< vectors hold the elements of even number, and those of odd number
  unsigned perIteration = 1; ///< elements
};

LogicalResult PassBuilder::build(unsigned index) {
  if (failed(checkVectorizable(pass)) || failed(findStorages(pass.getReads(), reads)) ||
      failed(findStorages(pass.getWrites(), writes)))
    return failure();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  std::string name = (interface.plan.getSymName() + "_pass" + Twine(index)).str();
  auto function = func::FuncOp::create(
      builder, loc, name,
      builder.getFunctionType({pointer, pointer, pointer, i64, pointer, pointer}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  nameArguments(function, {"row", "streams", "ranges", "count", "partials", "sites"});

  pairs = canPairElements();
  perIteration = pairs ? 2 * shape.lanes : shape.lanes;
  loadScalars(function.getArgument(0));
  rangeLoop(function.getArgument(1), function.getArgument(2), function.getArgument(3),
            splatScalars(shape.lanes));
  func::ReturnOp::create(builder, loc);
  return success();
}

// For each range the elements of one tensor.
void PassBuilder::rangeLoop(Value pointers, Value ranges, Value count, ValueRange splats) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, loc, constantI64(0), count, constantI64(1));
  builder.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar();
  number.setLoc(named(loc, "n"));
  Value streamCount = constantI64(interface.streamIndex.size());
  loadBases(elementPointer(builder, loc, pointers.getType(), pointers,
                           arith::MulIOp::create(builder, loc, number, streamCount).getResult()));

  Value range =
      elementPointer(builder, loc, i64, ranges,
                     arith::MulIOp::create(builder, loc, number, constantI64(2)).getResult());
  Value begin = loadElements(builder, named(loc, "begin"), i64, range);
  Value end =
      loadElements(builder, named(loc, "end"), i64, elementPointer(builder, loc, i64, range, 1));
  Value length = arith::SubIOp::create(builder, loc, end, begin);
  Value whole = arith::AndIOp::create(builder, loc, length, constantI64(-int64_t(perIteration)));
  Value middle = arith::AddIOp::create(builder, loc, begin, whole);
  vectorLoop(begin, middle, splats);
  if (shape.maskRemainder)
    maskedRemainder(middle, arith::SubIOp::create(builder, loc, length, whole), splats);
  else
    scalarLoop(middle, end);
}

void PassBuilder::loadScalars(Value row) {
  for (auto [scalar, argument] : llvm::zip(pass.getScalars(), pass.getBody().getArguments())) {
    auto index = static_cast<int32_t>(interface.rowIndex.lookup(scalar));
    Value address = elementPointer(builder, loc, interface.compute, row, index);
    Value value = loadElements(builder, argument.getLoc(), interface.compute, address);
    if (scalar.getType().isInteger(1)) {
      Value zero =
          arith::ConstantOp::create(builder, loc, builder.getFloatAttr(interface.compute, 0));
      value = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, value, zero);
    }
    scalars.push_back(value);
  }
}

LogicalResult PassBuilder::findStorages(ValueRange streams, SmallVectorImpl<StreamAccess> &result) {
  for (Value stream : streams) {
    Type storage = cast<StreamType>(stream.getType()).getStorage();
    const StorageConversion *conversion = StorageConversion::find(storage);
    if (!conversion)
      return pass.emitOpError() << "has a stream of " << storage
                                << ", a CPU stores `f32`, `f64`, `bf16` and `f16`";
    result.push_back({stream, conversion, {}});
  }
  return success();
}

// The addresses of a tensor's streams, once for those that are read and written.
void PassBuilder::loadBases(Value pointers) {
  llvm::DenseMap<Value, Value> bases;
  for (StreamAccess &access : llvm::concat<StreamAccess>(reads, writes)) {
    Value &base = bases[access.stream];
    if (!base) {
      auto index = static_cast<int32_t>(interface.streamIndex.lookup(access.stream));
      Type pointer = pointers.getType();
      auto name = access.stream.getDefiningOp<StreamOp>().getName();
      base = loadElements(builder, named(loc, (name + "_data").str()), pointer,
                          elementPointer(builder, loc, pointer, pointers, index));
    }
    access.base = base;
  }
}

Value PassBuilder::splat(Value scalar, unsigned lanes) {
  if (lanes == 1)
    return scalar;
  return vector::BroadcastOp::create(builder, scalar.getLoc(), laneType(scalar.getType(), lanes),
                                     scalar);
}

SmallVector<Value> PassBuilder::splatScalars(unsigned lanes) {
  return llvm::map_to_vector(scalars, [&](Value scalar) { return splat(scalar, lanes); });
}

// bf16 elements are cheapest to convert two at a time, the even and the odd ones of a vector; that
// serves where every stream has them in this order.
bool PassBuilder::canPairElements() const {
  auto isBFloat16 = [](const StreamAccess &stream) { return stream.storage == bf16Storage(); };
  return shape.lanes > 1 && interface.compute.isF32() && llvm::all_of(reads, isBFloat16) &&
         llvm::all_of(writes, isBFloat16);
}

Value PassBuilder::addressOf(const StreamAccess &stream, Value index) {
  return elementPointer(builder, loc, stream.storage->memoryType(builder.getContext()), stream.base,
                        index);
}

// The elements from `index` on: one vector of them, or those of its lanes that `mask` has.
void PassBuilder::computeAt(Value index, unsigned lanes, ValueRange splats, Value mask) {
  SmallVector<Value> arguments(splats);
  for (const StreamAccess &stream : reads) {
    Type type = laneType(stream.storage->memoryType(builder.getContext()), lanes);
    Value stored =
        loadElements(builder, stream.stream.getLoc(), type, addressOf(stream, index), mask);
    arguments.push_back(
        stream.storage->widen(builder, stream.stream.getLoc(), stored, interface.compute));
  }
  SmallVector<Value> results = cloneBody(builder, pass, arguments, lanes);
  for (auto [value, stream] : llvm::zip_equal(results, writes)) {
    Value stored = stream.storage->narrow(builder, loc, value);
    storeElements(builder, loc, stored, addressOf(stream, index), mask);
  }
}

// The same for twice as many elements, in two vectors.
void PassBuilder::computePairsAt(Value index, ValueRange splats, Value mask) {
  SmallVector<Value> evenArguments(splats), oddArguments(splats);
  Type type = laneType(builder.getI16Type(), 2 * shape.lanes);
  for (const StreamAccess &stream : reads) {
    Value stored =
        loadElements(builder, stream.stream.getLoc(), type, addressOf(stream, index), mask);
    auto [even, odd] = widenBFloat16Pairs(builder, stream.stream.getLoc(), stored);
    evenArguments.push_back(even);
    oddArguments.push_back(odd);
  }
  SmallVector<Value> evens = cloneBody(builder, pass, evenArguments, shape.lanes);
  SmallVector<Value> odds = cloneBody(builder, pass, oddArguments, shape.lanes);
  // Arithmetic gives the NaN of an operand, or the default one; only bits can make up another.
  bool shortNaNs = pass.getBody().front().getOps<arith::BitcastOp>().empty();
  for (auto [even, odd, stream] : llvm::zip_equal(evens, odds, writes)) {
    Value stored = narrowBFloat16Pairs(builder, loc, even, odd, shortNaNs);
    storeElements(builder, loc, stored, addressOf(stream, index), mask);
  }
}

void PassBuilder::computeVectorAt(Value index, ValueRange splats, Value mask) {
  if (pairs)
    computePairsAt(index, splats, mask);
  else
    computeAt(index, shape.lanes, splats, mask);
}

void PassBuilder::vectorLoop(Value lower, Value upper, ValueRange splats) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, loc, lower, upper, constantI64(perIteration));
  builder.setInsertionPointToStart(loop.getBody());
  loop.getInductionVar().setLoc(named(loc, "i"));
  computeVectorAt(loop.getInductionVar(), splats);
}

void PassBuilder::scalarLoop(Value lower, Value upper) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, loc, lower, upper, constantI64(1));
  builder.setInsertionPointToStart(loop.getBody());
  loop.getInductionVar().setLoc(named(loc, "i"));
  computeAt(loop.getInductionVar(), 1, scalars);
}

void PassBuilder::maskedRemainder(Value start, Value count, ValueRange splats) {
  OpBuilder::InsertionGuard guard(builder);
  Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, count, constantI64(0));
  auto branch = scf::IfOp::create(builder, loc, some, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  auto laneNumbers = llvm::to_vector(llvm::seq<int32_t>(0, perIteration));
  Value lane = arith::ConstantOp::create(builder, loc, builder.getI32VectorAttr(laneNumbers));
  Value count32 = arith::TruncIOp::create(builder, loc, builder.getI32Type(), count);
  Value mask = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, lane,
                                     splat(count32, perIteration));
  computeVectorAt(start, splats, mask);
}

} // namespace

LogicalResult buildPassFunction(OpBuilder &builder, const PlanInterface &interface, PassOp pass,
                                unsigned index, LoopShape shape) {
  return PassBuilder(builder, interface, pass, shape).build(index);
}

} // namespace updraft
