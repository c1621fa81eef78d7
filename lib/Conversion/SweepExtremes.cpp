//===- SweepExtremes.cpp - The extremes of a block of values ----------------------------------===//
// Computes the bits of the largest and smallest values of a block. The loop that computes the
// values carries them, or they are found among the kept values.

#include "SweepBuilder.h"
#include "VectorBody.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace updraft {

void SweepBuilder::storeExtremes(const BlockedStorage::Extremes &extremes,
                                 const BlockedStorage::Extremes &memory) {
  Value zero = constantI64(0);
  WriteOp::create(builder, loc, extremes.positive, memory.positive, zero);
  WriteOp::create(builder, loc, extremes.negative, memory.negative, zero);
  WriteOp::create(builder, loc, extremes.smallest, memory.smallest, zero);
}

BlockedStorage::Extremes SweepBuilder::loadExtremes(const BlockedStorage::Extremes &memory,
                                                    Type type) {
  Value zero = constantI64(0);
  return {ReadOp::create(builder, loc, type, memory.positive, zero),
          ReadOp::create(builder, loc, type, memory.negative, zero),
          ReadOp::create(builder, loc, type, memory.smallest, zero)};
}

// Finds the extremes of the kept values of the current block.
BlockedStorage::Extremes SweepBuilder::findExtremes(const StreamAccess &stream, Value lower,
                                                    Value upper) {
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  const BlockAccess &block = blocks.find(stream.stream)->second;
  storeExtremes(noExtremes(vectorLanes), block.extremes);
  storeExtremes(noExtremes(1), block.scalarExtremes);
  forElements(lower, upper, vectorLanes, [&](Value number, unsigned lanes, Value mask) {
    Type type = laneType(i32, lanes);
    Value kept = ReadOp::create(builder, loc, laneType(f32, lanes), block.valuesHere, number);
    Value bits = arith::BitcastOp::create(builder, loc, type, kept);
    const auto &memory = lanes == 1 ? block.scalarExtremes : block.extremes;
    storeExtremes(withBits(loadExtremes(memory, type), bits, mask, lanes), memory);
  });
  BlockedStorage::Extremes single = loadExtremes(block.scalarExtremes, i32);
  if (vectorLanes == 1)
    return single;
  BlockedStorage::Extremes extremes =
      reduced(loadExtremes(block.extremes, laneType(i32, vectorLanes)));
  return {arith::MaxSIOp::create(builder, loc, extremes.positive, single.positive),
          arith::MaxUIOp::create(builder, loc, extremes.negative, single.negative),
          arith::MinUIOp::create(builder, loc, extremes.smallest, single.smallest)};
}

// Completes extremes that lack the signed one. Searches the values only if one is negative.
BlockedStorage::Extremes SweepBuilder::extremesWithRoots(const StreamAccess &stream,
                                                         const BlockedStorage::Extremes &found,
                                                         const BlockBounds &bounds) {
  OpBuilder::InsertionGuard guard(builder);
  auto yield = [&](const BlockedStorage::Extremes &extremes) {
    scf::YieldOp::create(builder, loc,
                         ValueRange{extremes.positive, extremes.negative, extremes.smallest});
  };
  Value below = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, found.negative,
                                      noExtremes(vectorLanes).negative);
  Value some = vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR, below);
  Type i32 = builder.getI32Type();
  auto branch = scf::IfOp::create(builder, loc, TypeRange{i32, i32, i32}, some,
                                  /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  yield(findExtremes(stream, bounds.start, bounds.full));
  builder.setInsertionPointToStart(branch.elseBlock());
  BlockedStorage::Extremes extremes = reduced(found);
  extremes.positive = extremes.negative;
  yield(extremes);
  return {branch.getResult(0), branch.getResult(1), branch.getResult(2)};
}

} // namespace updraft
