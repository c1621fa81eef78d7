//===- KernelBlocks.cpp - Blocks that share a scale, by a warp --------------------------------===//
// Each thread holds a few vectors of a block. It keeps their next values in registers until the
// extremes of the whole warp determine the scale.

#include "../ValueNames.h"
#include "../VectorBody.h"
#include "SweepKernel.h"
#include "Updraft/IR/StorageSize.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "updraft-c/kernel.h"

using namespace mlir;

namespace updraft {

static_assert(quantBlockElements % int64_t(UPD_LANES) == 0, "threads have vectors of a block");

// Computes whole blocks, then the remainder.
SmallVector<Value> SweepKernel::computeBlocks(Value length, Value aligned, ValueRange carried) {
  Value whole =
      arith::AndIOp::create(builder, named(loc, "whole"), length, constantI32(-quantBlockElements));
  auto loop = [&](bool isAligned) {
    return blockLoop(constantI32(0), whole, /*whole=*/true, carried, isAligned);
  };
  SmallVector<Value> results = eitherWay(aligned, carried.getTypes(), loop);
  return blockLoop(whole, length, /*whole=*/false, results, /*aligned=*/false);
}

SmallVector<Value> SweepKernel::blockLoop(Value lower, Value upper, bool whole, ValueRange carried,
                                          bool aligned) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop =
      scf::ForOp::create(builder, loc, lower, upper, constantI32(quantBlockElements), carried);
  builder.setInsertionPointToStart(loop.getBody());
  loop.getInductionVar().setLoc(named(loc, "quant_block"));
  SmallVector<Value> results = computeBlock(loop.getInductionVar(), whole ? Value() : upper,
                                            loop.getRegionIterArgs(), aligned);
  if (!carried.empty())
    scf::YieldOp::create(builder, loc, results);
  return loop.getResults();
}

// Computes the block from `start` on; up to `end` if it may be shorter than a block.
SmallVector<Value> SweepKernel::computeBlock(Value start, Value end, ValueRange carried,
                                             bool aligned) {
  struct Part {
    ElementRange range;
    SmallVector<Value> values; // by coded stream
  };
  Value inSequence =
      arith::ShRUIOp::create(builder, loc, start, constantI32(llvm::Log2_64(quantBlockElements)));
  Value block = add(origin.scale, arith::ExtUIOp::create(builder, loc, i64, inSequence));
  for (const StreamAccess &stream : reads)
    if (stream.blocks)
      decodings[stream.stream] = splat(loadDecoding(stream, block));
  Value first =
      arith::AddIOp::create(builder, loc, start, multiply(member, constantI32(vectorLanes)));
  SmallVector<Value> reduced(carried);
  SmallVector<Part> parts;
  for (int64_t offset = 0; offset < quantBlockElements; offset += int64_t(UPD_LANES)) {
    Value number = arith::AddIOp::create(builder, loc, first, constantI32(offset));
    Value mask = end ? lanesBelow(number, end) : Value();
    ElementRange range = {number, vectorLanes, mask, aligned};
    reduced = computeAt(range, reduced);
    parts.push_back({range, codedValues});
  }

  if (codedWrites().empty())
    return reduced;
  // All threads must load the scale before one of them stores it.
  NVVM::SyncWarpOp::create(builder, loc, constantI32(-1));
  for (auto [i, stream] : llvm::enumerate(codedWrites())) {
    BlockedStorage::Extremes extremes = noExtremes(vectorLanes);
    Type bits = extremes.negative.getType();
    for (const Part &part : parts)
      extremes = withBits(extremes,
                          arith::BitcastOp::create(builder, loc, bits, part.values[i]).getResult(),
                          part.range.mask, vectorLanes);
    BlockedStorage::Encoding encoding =
        stream->blocks->encodingOf(builder, loc, ofWarp(SweepAccess::reduced(extremes)));
    BlockedStorage::Encoding ofLanes = splat(encoding);
    for (const Part &part : parts) {
      Value codes =
          stream->blocks->narrow(builder, writeLocation(*stream), part.values[i], ofLanes);
      write(writeLocation(*stream), codes, placeOf(*stream, part.range.number), part.range);
    }
    alone([&] {
      WriteOp::create(builder, writeLocation(*stream), encoding.scale, stream->scales, block);
    });
  }
  return reduced;
}

// A GPU reduces signed numbers. Inverting the highest bit makes unsigned numbers sort like signed
// ones.
BlockedStorage::Extremes SweepKernel::ofWarp(const BlockedStorage::Extremes &extremes) {
  auto reduce = [&](Value value, gpu::AllReduceOperation kind) -> Value {
    return gpu::SubgroupReduceOp::create(builder, loc, value, kind, /*uniform=*/true);
  };
  auto inverted = [&](Value value) -> Value {
    return arith::XOrIOp::create(builder, loc, value, constantI32(INT32_MIN));
  };
  return {
      reduce(extremes.positive, gpu::AllReduceOperation::MAXSI),
      inverted(reduce(inverted(extremes.negative), gpu::AllReduceOperation::MAXSI)),
      inverted(reduce(inverted(extremes.smallest), gpu::AllReduceOperation::MINSI)),
  };
}

} // namespace updraft
