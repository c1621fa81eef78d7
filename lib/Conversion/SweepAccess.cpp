//===- SweepAccess.cpp - Access to the kernel's arguments from a sweep ------------------------===//

#include "SweepAccess.h"

#include "KernelMemory.h"
#include "ValueNames.h"
#include "VectorBody.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "updraft-c/kernel.h"

using namespace mlir;

namespace updraft {

SweepAccess::SweepAccess(const OpBuilder &outer, const PlanInterface &interface, SweepOp sweep,
                         AccessShape shape)
    : builder(outer), interface(interface), sweep(sweep), loc(unnamed(sweep.getLoc())),
      vectorLanes(shape.vectorLanes), space(shape.space), accessBytes(shape.accessBytes),
      i64(builder.getI64Type()), byRows(sweep.runsByRows()), byBatches(sweep.runsByBatches()) {}

static StreamAccess accessTo(Value stream) {
  Type storage = cast<StreamType>(stream.getType()).getStorage();
  if (const StorageConversion *conversion = StorageConversion::find(storage))
    return {stream, conversion};
  return {stream, nullptr, BlockedStorage(cast<BlockedType>(storage).getQuantisation())};
}

void SweepAccess::findStreams() {
  for (Value stream : sweep.getReads())
    reads.push_back(accessTo(stream));
  for (Value stream : llvm::concat<Value>(sweep.getWrites(), sweep.getTemporaries()))
    writes.push_back(accessTo(stream));
  for (auto [reduction, result] : llvm::zip(sweep.getReductionRange(), sweep.getResults())) {
    ReductionAccess &access = reductions.emplace_back(ReductionAccess{reduction, {}});
    if (isa<StreamType>(result.getType()))
      access.stream = accessTo(result);
  }
}

SmallVector<StreamAccess *> SweepAccess::allStreams() {
  SmallVector<StreamAccess *> all;
  for (SmallVector<StreamAccess> *streams : {&reads, &writes})
    for (StreamAccess &stream : *streams)
      all.push_back(&stream);
  for (ReductionAccess &access : reductions)
    if (access.stream)
      all.push_back(&*access.stream);
  return all;
}

void SweepAccess::loadScalars(Value row) {
  for (auto [scalar, argument] : llvm::zip(sweep.getScalars(), sweep.getBody().getArguments())) {
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
    scalar.vector = splat(scalar.scalar, vectorLanes);
}

// Returns the name of a stream, for its elements in printed IR.
static std::string nameOf(Value stream) {
  auto op = stream.getDefiningOp<StreamOp>();
  return op ? op.getName().str() : "temporary";
}

Location SweepAccess::writeLocation(const StreamAccess &stream) {
  Operation *store = sweep.getBody().front().getTerminator();
  if (stream.stream.getDefiningOp<StreamOp>())
    return locationOf(store->getLoc(), nameOf(stream.stream));
  auto temporary = llvm::find(sweep.getTemporaries(), stream.stream);
  const size_t index = temporary - sweep.getTemporaries().begin();
  return unnamed(store->getOperands().take_back(sweep.getTemporaries().size())[index].getLoc());
}

Location SweepAccess::reductionLocation(size_t index) {
  return locationOf(sweep.getBody().front().getTerminator()->getLoc(), reductionPart(index));
}

void SweepAccess::locateStreams(Value pointers) {
  auto locate = [&](unsigned index, const std::string &name, Type element) -> Value {
    return LocateOp::create(builder, named(loc, name), elementsOf(element), pointers, index);
  };
  llvm::DenseMap<Value, std::pair<Value, Value>> located;
  for (StreamAccess *access : allStreams()) {
    auto &[elements, scales] = located[access->stream];
    std::string name = nameOf(access->stream);
    if (!elements)
      elements = locate(interface.streamIndex.lookup(access->stream), name + "_data",
                        access->memoryType());
    if (access->blocks && !scales)
      scales = locate(interface.scaleIndex.lookup(access->stream), name + "_scales",
                      builder.getF32Type());
    access->elements = elements;
    access->scales = scales;
  }
}

// Loads the fields of the `upd_site` of tensor `number` that the sweep uses.
void SweepAccess::loadSite(Value sites, Value number) {
  bool isRandom = !sweep.getBody().front().getOps<RandomOp>().empty();
  bool isMatrix = byRows || byBatches;
  if (!isRandom && !isMatrix)
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
  if (isMatrix) {
    rows = load("rows", offsetof(upd_site, rows));
    columns = load("columns", offsetof(upd_site, columns));
  }
}

// Loads the values of one row or batch.
void SweepAccess::loadUniforms(Extent over, Value index) {
  auto blockArguments = sweep.getBody().getArguments().drop_front(scalars.size());
  for (auto [stream, argument] : llvm::zip_equal(reads, blockArguments)) {
    if (stream.over() != over)
      continue;
    Location name = stream.stream.getLoc();
    Value stored = ReadOp::create(builder, name, stream.memoryType(), stream.elements, index);
    Value value = stream.storage->widen(builder, name, stored, argument.getType());
    uniforms[stream.stream] = {value, splat(value, vectorLanes)};
  }
}

SmallVector<Value> SweepAccess::uniformArguments(unsigned lanes) const {
  return llvm::map_to_vector(
      scalars, [&](const Uniform &scalar) { return lanes == 1 ? scalar.scalar : scalar.vector; });
}

Value SweepAccess::randomBits(RandomOp op, Value index, unsigned lanes) {
  if (lanes > 1) {
    auto laneNumbers = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
    Value lane = arith::ConstantOp::create(builder, loc, builder.getI64VectorAttr(laneNumbers));
    index = arith::AddIOp::create(builder, loc, splat(index, lanes), lane);
  }
  return philoxBits(builder, loc, site, index, op.getStream());
}

Value SweepAccess::splat(Value scalar, unsigned lanes) {
  if (lanes == 1)
    return scalar;
  return vector::BroadcastOp::create(builder, scalar.getLoc(), laneType(scalar.getType(), lanes),
                                     scalar);
}

} // namespace updraft
