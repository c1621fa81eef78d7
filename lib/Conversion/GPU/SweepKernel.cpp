//===- SweepKernel.cpp - R_sweep0 on a GPU ----------------------------------------------------===//
// Builds the kernel, the loop over a thread's chunks, and the loads for each chunk.

#include "SweepKernel.h"
#include "../KernelMemory.h"

#include "../ValueNames.h"
#include "../VectorBody.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "updraft-c/gpu_kernel.h"
#include "updraft-c/kernel.h"

using namespace mlir;

namespace updraft {

constexpr unsigned lanesPerThread = unsigned(UPD_LANES) / UPD_GPU_WARP_THREADS;
constexpr unsigned mostBytesLoaded = 128; // in registers, by one thread at once

static bool hasBlocks(SweepOp sweep) {
  auto isBlocked = [](Value stream) {
    return isa<BlockedType>(cast<StreamType>(stream.getType()).getStorage());
  };
  return llvm::any_of(sweep.getReads(), isBlocked) || llvm::any_of(sweep.getWrites(), isBlocked);
}

static bool isByWarps(SweepOp sweep) {
  return !sweep.getReductions().empty() || sweep.runsByRows() || sweep.runsByBatches() ||
         hasBlocks(sweep);
}

// Returns the number of elements in a thread's vector. If threads only update elements, this is one
// access to the widest stream, limited by the available registers.
static unsigned vectorLanesOf(SweepOp sweep, unsigned accessBytes) {
  if (isByWarps(sweep))
    return lanesPerThread;
  unsigned widest = 1, bytes = 0;
  for (ValueRange streams : {ValueRange(sweep.getReads()), ValueRange(sweep.getWrites()),
                             ValueRange(sweep.getTemporaries())})
    for (Value stream : streams) {
      Type storage = cast<StreamType>(stream.getType()).getStorage();
      if (const StorageConversion *conversion = StorageConversion::find(storage))
        widest = std::max(widest, elementBytes(conversion->memoryType(sweep.getContext())));
    }
  for (Value argument : sweep.getBody().getArguments().take_back(sweep.getReads().size()))
    bytes += elementBytes(argument.getType());
  unsigned lanes = accessBytes / widest;
  while (lanes > 1 && lanes * bytes > mostBytesLoaded)
    lanes /= 2;
  return lanes;
}

SweepKernel::SweepKernel(const OpBuilder &outer, const PlanInterface &interface, SweepOp sweep,
                         unsigned accessBytes)
    : SweepAccess(outer, interface, sweep,
                  {vectorLanesOf(sweep, accessBytes), globalMemory, accessBytes}),
      byWarps(isByWarps(sweep)), byQuantBlocks(hasBlocks(sweep)) {}

// Without a hint, ptxas may assign so few registers to such kernels that values spill to memory.
static void allowRegisters(gpu::GPUFuncOp kernel) {
  Builder builder(kernel.getContext());
  kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), builder.getI32IntegerAttr(2));
}

LogicalResult SweepKernel::build(unsigned index) {
  if (failed(checkVectorizable(sweep)))
    return failure();
  findStreams();
  Type pointer = globalPointer(builder.getContext());
  auto kernel = startKernel(builder, interface, "_sweep" + Twine(index),
                            {{"chunks", pointer},
                             {"count", i64},
                             {"streams", pointer},
                             {"rows", pointer},
                             {"partials", pointer},
                             {"sites", pointer}});
  describe(kernel);
  if (byWarps)
    allowRegisters(kernel);
  chunkLoop(kernel);
  gpu::ReturnOp::create(builder, loc);
  return success();
}

void SweepKernel::describe(gpu::GPUFuncOp kernel) {
  SmallVector<int64_t> bytes(interface.streamCount()), extents(interface.streamCount());
  for (auto [stream, index] : interface.streamIndex) {
    auto type = cast<StreamType>(stream.getType());
    extents[index] = type.getOver() == Extent::row      ? UPD_GPU_ROWS
                     : type.getOver() == Extent::column ? UPD_GPU_COLUMNS
                     : type.getOver() == Extent::batch  ? UPD_GPU_BATCHES
                                                        : UPD_GPU_ELEMENTS;
  }
  for (auto [stream, index] : interface.scaleIndex)
    extents[index] = UPD_GPU_SCALES;
  for (const StreamAccess *access : allStreams()) {
    bytes[interface.streamIndex.lookup(access->stream)] = elementBytes(access->memoryType());
    if (access->blocks)
      bytes[interface.scaleIndex.lookup(access->stream)] = sizeof(float);
  }
  kernel->setAttr(streamBytesAttr, builder.getDenseI64ArrayAttr(bytes));
  kernel->setAttr(streamExtentsAttr, builder.getDenseI64ArrayAttr(extents));
  kernel->setAttr(rowBytesAttr, builder.getI64IntegerAttr(interface.rowScalarCount *
                                                          elementBytes(interface.compute)));
  kernel->setAttr(partialCountAttr,
                  builder.getI64IntegerAttr(llvm::count_if(
                      reductions, [](const ReductionAccess &it) { return it.isPartial(); })));
  kernel->setAttr(loopAttr, builder.getI64IntegerAttr(byRows      ? UPD_GPU_MATRIX
                                                      : byBatches ? UPD_GPU_BATCH
                                                                  : UPD_GPU_FLAT));
}

// Distributes chunks over blocks or warps with a fixed stride.
void SweepKernel::chunkLoop(gpu::GPUFuncOp kernel) {
  OpBuilder::InsertionGuard guard(builder);
  ThreadPlace place = ThreadPlace::of(builder, loc);
  member =
      arith::TruncIOp::create(builder, named(loc, "member"), builder.getI32Type(), place.thread);
  members = UPD_GPU_THREADS;
  Value first = place.block, stride = place.blocks;
  if (byWarps) {
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

void SweepKernel::chunkAt(Value number, gpu::GPUFuncOp kernel) {
  Type i32 = builder.getI32Type(), byte = builder.getI8Type();
  Value chunk = elementPointer(builder, loc, byte, kernel.getArgument(0),
                               multiply(number, constantI64(sizeof(upd_gpu_chunk))));
  auto load = [&](StringRef name, Type type, size_t offset) {
    return loadElements(builder, named(loc, name), type,
                        elementPointer(builder, loc, byte, chunk, static_cast<int32_t>(offset)));
  };
  Value begin = load("begin", i64, offsetof(upd_gpu_chunk, begin));
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
  if (Value condition = sweep.getCondition()) {
    auto index = static_cast<int32_t>(interface.rowIndex.lookup(condition));
    Value needed = loadElements(builder, named(loc, "needed"), interface.compute,
                                elementPointer(builder, loc, interface.compute, row, index));
    Value isNeeded = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, needed, zero);
    taken = arith::AndIOp::create(builder, loc, taken, isNeeded);
  }
  auto branch = scf::IfOp::create(builder, loc, taken, /*withElseRegion=*/false);

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  loadScalars(row);
  Value streams = kernel.getArgument(2);
  locateStreams(elementPointer(builder, loc, streams.getType(), streams,
                               multiply(tensor, constantI64(interface.streamCount()))));
  loadSite(kernel.getArgument(5), tensor);
  Value aligned =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, flag, constantI32(0));
  auto partialCount = kernel->getAttrOfType<IntegerAttr>(partialCountAttr).getInt();
  Value partials = elementPointer(builder, loc, builder.getF64Type(), kernel.getArgument(4),
                                  multiply(number, constantI64(partialCount)));
  if (byRows)
    return blockOfRows(begin, aligned, partials);
  if (byBatches)
    return batch(begin);
  LoopOrigin start;
  start.element = begin;
  if (byQuantBlocks)
    start.scale = quantBlocksIn(begin);
  enter(start);
  Value length = arith::TruncIOp::create(builder, named(loc, "length"), i32,
                                         arith::SubIOp::create(builder, loc, end, begin));
  if (byWarps)
    storePartials(compute(length, aligned, identities()), partials);
  else
    update(length, aligned);
}

LogicalResult buildSweepKernel(OpBuilder &builder, const PlanInterface &interface, SweepOp sweep,
                               unsigned index, unsigned accessBytes) {
  return SweepKernel(builder, interface, sweep, accessBytes).build(index);
}

} // namespace updraft
