//===- PassFunction.cpp - R_pass0: a function for one pass over tensors -----------------------===//
// The function, and what it loads of its arguments.

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
    : builder(outer), interface(interface), pass(pass), loc(unnamed(pass.getLoc())), shape(shape),
      i64(builder.getI64Type()), byRows(pass.runsByRows()), byBatches(pass.runsByBatches()) {}

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

  pairs = canPairElements();
  elementsPerVector = pairs ? 2 * shape.lanes : shape.lanes;
  auto module = function->getParentOfType<ModuleOp>();
  for (ReductionAccess &access : reductions)
    if (access.reduction.getOver() != Extent::column)
      access.lanes.emplace(builder, loc, module, access.reduction.getKind());
  makeBlockMemory();
  loadScalars(function.getArgument(0));
  tensorLoop(function.getArguments());
  func::ReturnOp::create(builder, loc);
  return success();
}

FailureOr<StreamAccess> PassBuilder::findStream(Value stream) {
  Type storage = cast<StreamType>(stream.getType()).getStorage();
  if (const StorageConversion *conversion = StorageConversion::find(storage))
    return StreamAccess{stream, conversion};
  if (auto blocked = dyn_cast<BlockedType>(storage))
    return StreamAccess{stream, nullptr, BlockedStorage(blocked.getQuantisation())};
  return pass.emitOpError() << "has a stream of " << storage
                            << ", a CPU stores `f32`, `f64`, `bf16`, `f16`, `i8` and blocks";
}

LogicalResult PassBuilder::findStreams() {
  auto findAll = [&](ValueRange streams, SmallVectorImpl<StreamAccess> &result) {
    for (Value stream : streams) {
      FailureOr<StreamAccess> access = findStream(stream);
      if (failed(access))
        return failure();
      result.push_back(*access);
    }
    return success();
  };
  if (failed(findAll(pass.getReads(), reads)) || failed(findAll(pass.getWrites(), writes)) ||
      failed(findAll(pass.getTemporaries(), writes)))
    return failure();
  for (auto [reduction, result] : llvm::zip(pass.getReductionRange(), pass.getResults())) {
    ReductionAccess &access = reductions.emplace_back(ReductionAccess{reduction, {}, {}});
    if (!isa<StreamType>(result.getType()))
      continue;
    FailureOr<StreamAccess> stream = findStream(result);
    if (failed(stream))
      return failure();
    access.stream = *stream;
  }
  return success();
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
    scalars.push_back({value, {}});
  }
  for (Uniform &scalar : scalars)
    scalar.vector = splat(scalar.scalar, shape.lanes);
}

// The name of a stream, as its address is printed with.
static std::string nameOf(Value stream) {
  auto op = stream.getDefiningOp<StreamOp>();
  return op ? op.getName().str() : "temporary";
}

// The addresses of a tensor's streams, once for those that are read and written.
void PassBuilder::loadBases(Value pointers) {
  Type pointer = pointers.getType();
  auto loadAt = [&](unsigned index, const std::string &name) {
    return loadElements(
        builder, named(loc, name), pointer,
        elementPointer(builder, loc, pointer, pointers, static_cast<int32_t>(index)));
  };
  llvm::DenseMap<Value, std::pair<Value, Value>> bases;
  auto load = [&](StreamAccess &access) {
    auto &[base, scales] = bases[access.stream];
    if (!base)
      base = loadAt(interface.streamIndex.lookup(access.stream), nameOf(access.stream) + "_data");
    if (access.blocks && !scales)
      scales =
          loadAt(interface.scaleIndex.lookup(access.stream), nameOf(access.stream) + "_scales");
    access.base = base;
    access.scales = scales;
  };
  llvm::for_each(reads, load);
  llvm::for_each(writes, load);
  for (ReductionAccess &access : reductions)
    if (access.stream)
      load(*access.stream);
}

// What the pass uses of the `upd_site` of tensor `number`.
void PassBuilder::loadSite(Value sites, Value number) {
  bool isRandom = !pass.getBody().front().getOps<RandomOp>().empty();
  if (!isRandom && !byRows && !byBatches)
    return;
  static_assert(sizeof(upd_site) % sizeof(int64_t) == 0);
  Value fields = constantI64(sizeof(upd_site) / sizeof(int64_t));
  Value base = elementPointer(builder, loc, i64, sites, multiply(number, fields));
  auto load = [&](StringRef name, size_t offset) {
    auto index = static_cast<int32_t>(offset / sizeof(int64_t));
    return loadElements(builder, named(loc, name), i64,
                        elementPointer(builder, loc, i64, base, index));
  };
  if (isRandom)
    site = {load("seed", offsetof(upd_site, seed)), load("step", offsetof(upd_site, step)),
            load("tensor", offsetof(upd_site, tensor))};
  if (byRows || byBatches) {
    rows = load("rows", offsetof(upd_site, rows));
    columns = load("columns", offsetof(upd_site, columns));
  }
}

// bf16 elements are cheapest to convert two at a time, the even and the odd ones of a vector; that
// serves where every stream has them in this order, and nothing depends on where an element is.
bool PassBuilder::canPairElements() {
  auto isBFloat16 = [](const StreamAccess &stream) { return stream.storage == bf16Storage(); };
  return shape.lanes > 1 && interface.compute.isF32() && !byRows && !byBatches &&
         reductions.empty() && pass.getBody().front().getOps<RandomOp>().empty() &&
         llvm::all_of(reads, isBFloat16) && llvm::all_of(writes, isBFloat16);
}

Value PassBuilder::splat(Value scalar, unsigned lanes) {
  if (lanes == 1)
    return scalar;
  return vector::BroadcastOp::create(builder, scalar.getLoc(), laneType(scalar.getType(), lanes),
                                     scalar);
}

Value PassBuilder::addressOf(const StreamAccess &stream, Value index) {
  Type element =
      stream.storage ? stream.storage->memoryType(builder.getContext()) : Type(builder.getI8Type());
  return elementPointer(builder, loc, element, stream.base, index);
}

LogicalResult buildPassFunction(OpBuilder &builder, const PlanInterface &interface, PassOp pass,
                                unsigned index, LoopShape shape) {
  return PassBuilder(builder, interface, pass, shape).build(index);
}

} // namespace updraft
