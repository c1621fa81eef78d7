//===- KernelRows.cpp - The rows of a block, and the rows or columns of a batch ---------------===//

#include "../Accumulators.h"
#include "../ValueNames.h"
#include "SweepKernel.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "updraft-c/kernel.h"

using namespace mlir;

namespace updraft {

void SweepKernel::blockOfRows(Value block, Value aligned, Value partials) {
  Type i32 = builder.getI32Type();
  Value blockRows = constantI64(UPD_BLOCK_ROWS);
  Value rounded = arith::AddIOp::create(builder, loc, rows, constantI64(UPD_BLOCK_ROWS - 1));
  Value blocksPerBatch = arith::DivUIOp::create(builder, loc, rounded, blockRows);
  Value batch = arith::DivUIOp::create(builder, named(loc, "batch"), block, blocksPerBatch);
  Value firstBlock = multiply(batch, blocksPerBatch);
  Value firstRow = multiply(arith::SubIOp::create(builder, loc, block, firstBlock), blockRows);
  Value full = arith::AddIOp::create(builder, loc, firstRow, blockRows);
  Value rowEnd = arith::MinSIOp::create(builder, named(loc, "row_end"), full, rows);
  Value batchStart = multiply(batch, rows);
  Value length = arith::TruncIOp::create(builder, named(loc, "length"), i32, columns);
  // A row is aligned if the tensor is, and rows consist of whole vectors.
  Value rest = arith::AndIOp::create(builder, loc, length, constantI32(vectorLanes - 1));
  Value isWhole =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest, constantI32(0));
  Value rowsAligned = arith::AndIOp::create(builder, loc, aligned, isWhole);
  loadUniforms(Extent::batch, batch);
  LoopOrigin start;
  start.column = multiply(batch, columns);
  start.sum = multiply(block, columns);
  resetColumnSums(start.sum, length);

  SmallVector<Value> ofTensor;
  SmallVector<Value> none = identities();
  for (auto [access, identity] : llvm::zip_equal(laneReductions(), none))
    if (access->isPartial())
      ofTensor.push_back(identity);
  auto loop = scf::ForOp::create(builder, loc, firstRow, rowEnd, constantI64(1), ofTensor);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    loop.getInductionVar().setLoc(named(loc, "r"));
    Value row = arith::AddIOp::create(builder, loc, batchStart, loop.getInductionVar());
    start.element = multiply(row, columns);
    start.row = loop.getInductionVar();
    if (byQuantBlocks)
      start.scale = multiply(row, quantBlocksIn(columns));
    loadUniforms(Extent::row, row);
    enter(start);
    SmallVector<Value> carried(none);
    auto before = loop.getRegionIterArgs().begin();
    for (auto [access, lanes] : llvm::zip_equal(laneReductions(), carried))
      if (access->isPartial())
        lanes = *before++;
    SmallVector<Value> results = compute(length, rowsAligned, carried);
    storeTotals(results, row);
    SmallVector<Value> next;
    for (auto [access, lanes] : llvm::zip_equal(laneReductions(), results))
      if (access->isPartial())
        next.push_back(lanes);
    if (!next.empty())
      scf::YieldOp::create(builder, loc, next);
  }
  SmallVector<Value> carried(none);
  auto total = loop.getResults().begin();
  for (auto [access, lanes] : llvm::zip_equal(laneReductions(), carried))
    if (access->isPartial())
      lanes = *total++;
  storePartials(carried, partials);
}

// Sweeps over batches only reduce over batches.
void SweepKernel::batch(Value number) {
  Value count = sweep.getOver() == Extent::row ? rows : columns;
  loadUniforms(Extent::batch, number);
  LoopOrigin start;
  start.element = multiply(number, count);
  enter(start);
  Value length =
      arith::TruncIOp::create(builder, named(loc, "length"), builder.getI32Type(), count);
  storeTotals(compute(length, /*aligned=*/{}, identities()), number);
}

// Resets the sums of a block's columns; each thread resets its own columns.
void SweepKernel::resetColumnSums(Value start, Value length) {
  for (const ReductionAccess &access : reductions) {
    if (access.hasLanes())
      continue;
    Type type = VectorType::get(vectorLanes, builder.getF64Type());
    here[access.stream->stream] = ShiftOp::create(builder, loc, access.stream->elements, start);
    walk(length, {}, {}, [&](Value number, Value mask, ValueRange, bool) -> SmallVector<Value> {
      Value identity = reductionIdentity(builder, loc, access.reduction.getKind(), type);
      write(loc, identity, placeOf(*access.stream, number), {number, vectorLanes, mask});
      return {};
    });
  }
}

} // namespace updraft
