//===- PassKernel.cpp - R_pass0 on a GPU: blocks or warps that take chunks of tensors ---------===//
// Threads that go through a chunk together have vectors of elements next to each other. Where a
// pass reduces these are the threads of a warp and four elements each: the lanes of the reduction
// tree of docs/dialect.md are then the elements of a warp's vectors, and every level of the tree an
// exchange between its threads.

#include "../Accumulators.h"
#include "../KernelMemory.h"
#include "../PassAccess.h"
#include "../ValueNames.h"
#include "../VectorBody.h"
#include "GPUKernels.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "updraft-c/gpu_kernel.h"
#include "updraft-c/kernel.h"
#include "updraft/Conversion/GPUSupport.h"

using namespace mlir;

namespace updraft {
namespace {

constexpr unsigned reducedPerThread = UPD_LANES / UPD_GPU_WARP_THREADS;
constexpr unsigned computedTogether = 2;
constexpr unsigned mostBytesLoaded = 128; // in registers, by a thread at once

// How many elements a thread has in a vector: four of a reduction, else those of one access to its
// widest stream, but no more than it has registers for.
unsigned vectorLanesOf(PassOp pass, unsigned accessBytes) {
  if (!pass.getResults().empty())
    return reducedPerThread;
  unsigned widest = 1, bytes = 0;
  for (ValueRange streams : {ValueRange(pass.getReads()), ValueRange(pass.getWrites())})
    for (Value stream : streams) {
      Type storage = cast<StreamType>(stream.getType()).getStorage();
      if (const StorageConversion *conversion = StorageConversion::find(storage))
        widest = std::max(widest, elementBytes(conversion->memoryType(pass.getContext())));
    }
  for (Value argument : pass.getBody().getArguments().take_back(pass.getReads().size()))
    bytes += elementBytes(argument.getType());
  unsigned lanes = accessBytes / widest;
  while (lanes > 1 && lanes * bytes > mostBytesLoaded)
    lanes /= 2;
  return lanes;
}

class PassKernelBuilder : PassAccess {
public:
  PassKernelBuilder(const OpBuilder &outer, const PlanInterface &interface, PassOp pass,
                    unsigned accessBytes)
      : PassAccess(outer, interface, pass, vectorLanesOf(pass, accessBytes)),
        accessBytes(accessBytes) {}

  LogicalResult build(unsigned index);

private:
  void describe(gpu::GPUFuncOp kernel);
  void chunkLoop(gpu::GPUFuncOp kernel);
  void chunkAt(Value number, gpu::GPUFuncOp kernel);
  // In 32 bits: an element's number in the chunk.
  void update(Value length, Value aligned);
  SmallVector<Value> reduce(Value length, Value aligned);
  SmallVector<Value> elementLoop(Value lower, Value upper, unsigned perThread, bool aligned);
  SmallVector<Value> remainder(Value lower, Value upper, ValueRange carried);
  SmallVector<Value> bodyOf(ValueRange arguments, Value number, unsigned lanes);
  SmallVector<Value> computeAt(Value number, unsigned lanes, Value mask, ValueRange carried,
                               bool aligned);
  Value accumulate(ReductionAttr reduction, Value before, Value value, Value mask);
  void storePartials(Value number, ValueRange carried, Value partials);
  Value exchanged(Value value, int32_t distance);
  Value totalOf(ReductionKind kind, Value lanes);

  Value constantI32(int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  SmallVector<Value> identities();
  bool reduces() { return !pass.getResults().empty(); }
  unsigned alignmentOf(Type vector) {
    auto type = dyn_cast<VectorType>(vector);
    unsigned bytes = elementBytes(vector) * (type ? type.getNumElements() : 1);
    return std::min(bytes, accessBytes);
  }

  unsigned accessBytes;
  ThreadPlace place;
  Value chunkBegin;     ///< the number of its first element in the tensor
  Value member;         ///< the number of this thread among those that go through a chunk together
  unsigned members = 0; ///< how many these are
};

} // namespace

const char *whyNotOnGPU(PassOp pass) {
  if (pass.runsByRows() || pass.runsByBatches() || pass.getOver() != Extent::element)
    return "works on rows and columns, which kernels for GPUs do not yet";
  for (ValueRange streams : {ValueRange(pass.getReads()), ValueRange(pass.getWrites())})
    for (Value stream : streams)
      if (isa<BlockedType>(cast<StreamType>(stream.getType()).getStorage()))
        return "has states in blocks; a GPU stores `f32`, `f64`, `bf16`, `f16` and `i8`";
  return nullptr;
}

LogicalResult PassKernelBuilder::build(unsigned index) {
  if (const char *reason = whyNotOnGPU(pass))
    return pass.emitOpError(reason);
  if (failed(checkVectorizable(pass)) || failed(findStreams(pass.getReads(), reads)) ||
      failed(findStreams(pass.getWrites(), writes)))
    return failure();
  Type pointer = globalPointer(builder.getContext());
  auto kernel = startKernel(builder, interface, "_pass" + Twine(index),
                            {{"chunks", pointer},
                             {"count", i64},
                             {"streams", pointer},
                             {"rows", pointer},
                             {"partials", pointer},
                             {"sites", pointer}});
  describe(kernel);
  chunkLoop(kernel);
  gpu::ReturnOp::create(builder, loc);
  return success();
}

void PassKernelBuilder::describe(gpu::GPUFuncOp kernel) {
  SmallVector<int64_t> bytes(interface.streamCount());
  for (auto [stream, index] : interface.streamIndex) {
    Type storage = cast<StreamType>(stream.getType()).getStorage();
    if (const StorageConversion *conversion = StorageConversion::find(storage))
      bytes[index] = elementBytes(conversion->memoryType(builder.getContext()));
  }
  kernel->setAttr(streamBytesAttr, builder.getDenseI64ArrayAttr(bytes));
  kernel->setAttr(rowBytesAttr, builder.getI64IntegerAttr(interface.rowScalarCount *
                                                          elementBytes(interface.compute)));
  kernel->setAttr(partialCountAttr, builder.getI64IntegerAttr(pass.getResults().size()));
}

// A block or a warp takes every so many chunks.
void PassKernelBuilder::chunkLoop(gpu::GPUFuncOp kernel) {
  OpBuilder::InsertionGuard guard(builder);
  place = ThreadPlace::of(builder, loc);
  member =
      arith::TruncIOp::create(builder, named(loc, "member"), builder.getI32Type(), place.thread);
  members = UPD_GPU_THREADS;
  Value first = place.block, stride = place.blocks;
  if (reduces()) {
    members = UPD_GPU_WARP_THREADS;
    Value warps = constantI64(UPD_GPU_THREADS / members);
    member = arith::AndIOp::create(builder, named(loc, "lane"), member, constantI32(members - 1));
    Value warp = arith::ShRUIOp::create(builder, named(loc, "warp"), place.thread,
                                        constantI64(llvm::Log2_32(members)));
    first = arith::AddIOp::create(builder, loc, multiply(place.block, warps), warp);
    stride = multiply(place.blocks, warps);
  }
  auto loop = scf::ForOp::create(builder, loc, first, kernel.getArgument(1), stride);
  builder.setInsertionPointToStart(loop.getBody());
  loop.getInductionVar().setLoc(named(loc, "chunk"));
  chunkAt(loop.getInductionVar(), kernel);
}

void PassKernelBuilder::chunkAt(Value number, gpu::GPUFuncOp kernel) {
  Type i32 = builder.getI32Type(), byte = builder.getI8Type();
  Value chunk = elementPointer(builder, loc, byte, kernel.getArgument(0),
                               multiply(number, constantI64(sizeof(upd_gpu_chunk))));
  auto load = [&](StringRef name, Type type, size_t offset) {
    return loadElements(builder, named(loc, name), type,
                        elementPointer(builder, loc, byte, chunk, static_cast<int32_t>(offset)));
  };
  chunkBegin = load("begin", i64, offsetof(upd_gpu_chunk, begin));
  Value end = load("end", i64, offsetof(upd_gpu_chunk, end));
  Value tensor = arith::ExtUIOp::create(builder, loc, i64,
                                        load("tensor", i32, offsetof(upd_gpu_chunk, tensor)));
  Value flag = load("aligned", i32, offsetof(upd_gpu_chunk, aligned));

  Value rowScalars = constantI64(interface.rowScalarCount);
  Value row = elementPointer(builder, loc, interface.compute, kernel.getArgument(3),
                             multiply(tensor, rowScalars));
  Value skip = loadElements(builder, named(loc, "skip"), interface.compute, row);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getFloatAttr(interface.compute, 0));
  Value taken = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UEQ, skip, zero);
  auto branch = scf::IfOp::create(builder, loc, taken, /*withElseRegion=*/false);

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  loadScalars(row);
  SmallVector<StreamAccess *> all;
  for (SmallVector<StreamAccess> *streams : {&reads, &writes})
    for (StreamAccess &stream : *streams)
      all.push_back(&stream);
  Value streams = kernel.getArgument(2);
  loadBases(elementPointer(builder, loc, streams.getType(), streams,
                           multiply(tensor, constantI64(interface.streamCount()))),
            all);
  loadSite(kernel.getArgument(5), tensor);
  Value zero32 = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  Value aligned = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, flag, zero32);
  for (StreamAccess *stream : all)
    stream->base = addressOf(*stream, chunkBegin);
  Value length = arith::TruncIOp::create(builder, named(loc, "length"), i32,
                                         arith::SubIOp::create(builder, loc, end, chunkBegin));
  if (reduces())
    storePartials(number, reduce(length, aligned), kernel.getArgument(4));
  else
    update(length, aligned);
}

SmallVector<Value> PassKernelBuilder::identities() {
  Type type = VectorType::get(vectorLanes, builder.getF64Type());
  return llvm::map_to_vector(pass.getReductionRange(), [&](ReductionAttr reduction) {
    return reductionIdentity(builder, loc, reduction.getKind(), type);
  });
}

// The elements of a chunk that is only written: whole vectors where streams are aligned, and single
// elements.
void PassKernelBuilder::update(Value length, Value aligned) {
  Value whole = arith::AndIOp::create(builder, loc, length, constantI32(-int64_t(vectorLanes)));
  Value zero = constantI32(0);
  Value middle = arith::SelectOp::create(builder, named(loc, "middle"), aligned, whole, zero);
  elementLoop(zero, middle, vectorLanes, /*aligned=*/true);
  elementLoop(middle, length, 1, /*aligned=*/false);
}

// Returns this thread's lanes of each reduction over the chunk.
SmallVector<Value> PassKernelBuilder::reduce(Value length, Value aligned) {
  Value middle = arith::AndIOp::create(builder, named(loc, "middle"), length,
                                       constantI32(-int64_t(vectorLanes)));
  SmallVector<Type> types(pass.getResults().size(),
                          VectorType::get(vectorLanes, builder.getF64Type()));
  auto branch = scf::IfOp::create(builder, loc, types, aligned, /*withElseRegion=*/true);
  for (bool isAligned : {true, false}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(isAligned ? branch.thenBlock() : branch.elseBlock());
    scf::YieldOp::create(builder, loc, elementLoop(constantI32(0), middle, vectorLanes, isAligned));
  }
  return remainder(middle, length, branch.getResults());
}

// Elements [lower, upper) of the chunk, so many at a time by each thread; returns its lanes of each
// reduction.
SmallVector<Value> PassKernelBuilder::elementLoop(Value lower, Value upper, unsigned perThread,
                                                  bool aligned) {
  OpBuilder::InsertionGuard guard(builder);
  Value offset = perThread == 1 ? member : multiply(member, constantI32(perThread));
  Value first = arith::AddIOp::create(builder, loc, lower, offset);
  auto loop = scf::ForOp::create(builder, loc, first, upper,
                                 constantI32(int64_t(members) * perThread), identities());
  builder.setInsertionPointToStart(loop.getBody());
  loop.getInductionVar().setLoc(named(loc, "i"));
  SmallVector<Value> carried =
      computeAt(loop.getInductionVar(), perThread, {}, loop.getRegionIterArgs(), aligned);
  if (reduces())
    scf::YieldOp::create(builder, loc, carried);
  return loop.getResults();
}

// What is left of a chunk is less than a vector, which would be the next thread's.
SmallVector<Value> PassKernelBuilder::remainder(Value lower, Value upper, ValueRange carried) {
  OpBuilder::InsertionGuard guard(builder);
  Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lower, upper);
  Value vectors =
      arith::ShRUIOp::create(builder, loc, lower, constantI32(llvm::Log2_32(vectorLanes)));
  Value next = arith::AndIOp::create(builder, loc, vectors, constantI32(members - 1));
  Value mine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, next, member);
  Value taken = arith::AndIOp::create(builder, loc, some, mine);
  auto branch = scf::IfOp::create(builder, loc, carried.getTypes(), taken, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(vectorLanes)));
  Value lane = arith::ConstantOp::create(builder, loc, builder.getI32VectorAttr(numbers));
  Value left = arith::SubIOp::create(builder, loc, upper, lower);
  Value mask = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lane,
                                     splat(left, vectorLanes));
  scf::YieldOp::create(builder, loc,
                       computeAt(lower, vectorLanes, mask, carried, /*aligned=*/false));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, carried);
  return branch.getResults();
}

// The results of the body for a vector of elements, a few at a time: so a thread needs registers
// for what is between them of a few only.
SmallVector<Value> PassKernelBuilder::bodyOf(ValueRange arguments, Value number, unsigned lanes) {
  const unsigned part = std::min(lanes, computedTogether);
  SmallVector<Value> results;
  for (unsigned first = 0; first < lanes; first += part) {
    auto partOf = [&](Value value) -> Value {
      if (part == lanes)
        return value;
      return vector::ShuffleOp::create(
          builder, loc, value, value,
          llvm::to_vector(llvm::seq<int64_t>(first, first + int64_t(part))));
    };
    auto random = [&](RandomOp op) {
      Value inTensor = arith::AddIOp::create(builder, loc, chunkBegin,
                                             arith::ExtUIOp::create(builder, loc, i64, number));
      return randomBits(op, first == 0 ? inTensor : add(inTensor, constantI64(first)), part);
    };
    SmallVector<Value> some =
        cloneBody(builder, pass, llvm::map_to_vector(arguments, partOf), part, random);
    if (first == 0) {
      results = some;
      continue;
    }
    for (auto [before, value] : llvm::zip_equal(results, some))
      before =
          vector::ShuffleOp::create(builder, loc, before, value,
                                    llvm::to_vector(llvm::seq<int64_t>(0, first + int64_t(part))));
  }
  return results;
}

// Returns the lanes in `carried` with what the elements from `number` on add.
SmallVector<Value> PassKernelBuilder::computeAt(Value number, unsigned lanes, Value mask,
                                                ValueRange carried, bool aligned) {
  SmallVector<Value> arguments = uniformArguments(lanes);
  auto blockArguments = pass.getBody().getArguments().drop_front(arguments.size());
  for (auto [stream, argument] : llvm::zip_equal(reads, blockArguments)) {
    Location name = stream.stream.getLoc();
    Type memory = laneType(stream.storage->memoryType(builder.getContext()), lanes);
    Value stored = loadElements(builder, name, memory, addressOf(stream, number), mask,
                                aligned ? alignmentOf(memory) : 0);
    arguments.push_back(stream.storage->widen(builder, name, stored, argument.getType()));
  }
  SmallVector<Value> results = bodyOf(arguments, number, lanes);
  // In the order of the operands of `updraft.store`.
  ArrayRef<Value> values(results);
  for (auto [stream, value] : llvm::zip_equal(writes, values.take_front(writes.size()))) {
    Value stored = stream.storage->narrow(builder, loc, value);
    storeElements(builder, loc, stored, addressOf(stream, number), mask,
                  aligned ? alignmentOf(stored.getType()) : 0);
  }
  SmallVector<Value> after;
  for (auto [reduction, before, value] :
       llvm::zip_equal(pass.getReductionRange(), carried, values.drop_front(writes.size())))
    after.push_back(accumulate(reduction, before, value, mask));
  return after;
}

Value PassKernelBuilder::accumulate(ReductionAttr reduction, Value before, Value value,
                                    Value mask) {
  if (mask)
    value = arith::SelectOp::create(
        builder, loc, mask, value,
        reductionIdentity(builder, loc, reduction.getKind(), value.getType()));
  return combineReduced(builder, loc, reduction.getKind(), before, value);
}

// The value of the thread whose number differs in the bit of `distance`.
Value PassKernelBuilder::exchanged(Value value, int32_t distance) {
  Type i32 = builder.getI32Type();
  auto constant = [&](int32_t number) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(number));
  };
  Value bits = arith::BitcastOp::create(builder, loc, i64, value);
  auto exchange = [&](Value half) -> Value {
    Value low = arith::TruncIOp::create(builder, loc, i32, half);
    auto shuffled = gpu::ShuffleOp::create(builder, loc, low, constant(distance),
                                           constant(UPD_GPU_WARP_THREADS), gpu::ShuffleMode::XOR);
    return arith::ExtUIOp::create(builder, loc, i64, shuffled.getShuffleResult());
  };
  Value low = exchange(bits);
  Value high = exchange(arith::ShRUIOp::create(builder, loc, bits, constantI64(32)));
  Value joined = arith::OrIOp::create(builder, loc, low,
                                      arith::ShLIOp::create(builder, loc, high, constantI64(32)));
  return arith::BitcastOp::create(builder, loc, builder.getF64Type(), joined);
}

// The total of a warp's lanes, in each of its threads.
Value PassKernelBuilder::totalOf(ReductionKind kind, Value lanes) {
  SmallVector<Value> values;
  for (int64_t i = 0; i < vectorLanes; ++i)
    values.push_back(vector::ExtractOp::create(builder, loc, lanes, i));
  for (int32_t distance = UPD_GPU_WARP_THREADS / 2; distance >= 1; distance /= 2)
    for (Value &value : values)
      value = combineReduced(builder, loc, kind, value, exchanged(value, distance));
  for (size_t half = values.size() / 2; half >= 1; half /= 2)
    for (size_t i = 0; i < half; ++i)
      values[i] = combineReduced(builder, loc, kind, values[i], values[i + half]);
  return values.front();
}

void PassKernelBuilder::storePartials(Value number, ValueRange carried, Value partials) {
  SmallVector<Value> totals;
  for (auto [reduction, lanes] : llvm::zip_equal(pass.getReductionRange(), carried))
    totals.push_back(totalOf(reduction.getKind(), lanes));
  OpBuilder::InsertionGuard guard(builder);
  Value isFirst =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, member, constantI32(0));
  auto branch = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  Type f64 = builder.getF64Type();
  Value mine = elementPointer(builder, loc, f64, partials,
                              multiply(number, constantI64(static_cast<int64_t>(totals.size()))));
  for (auto [index, total] : llvm::enumerate(totals))
    storeElements(builder, loc, total,
                  elementPointer(builder, loc, f64, mine, static_cast<int32_t>(index)));
}

LogicalResult buildPassKernel(OpBuilder &builder, const PlanInterface &interface, PassOp pass,
                              unsigned index, unsigned accessBytes) {
  return PassKernelBuilder(builder, interface, pass, accessBytes).build(index);
}

} // namespace updraft
