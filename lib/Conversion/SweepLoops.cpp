//===- SweepLoops.cpp - The loops of a sweep around its elements ------------------------------===//
// Loops over tensors; then over leaves of a flat sequence, over blocks of a matrix and their rows,
// or over batches and the rows or columns of each. At the end of a leaf, block or row, its total is
// taken from the lanes of each reduction.

#include "KernelMemory.h"
#include "SweepBuilder.h"
#include "ValueNames.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "updraft-c/kernel.h"

using namespace mlir;

namespace updraft {

// Computes elements [lower, upper) of a leaf, a row or any range.
void SweepBuilder::rangeLoop(Value lower, Value upper) {
  if (blocks.empty())
    elementLoop(lower, upper);
  else
    quantBlockLoop(lower, upper);
}

// Processes one range per tensor. The loop carries the address of the next partial results.
void SweepBuilder::tensorLoop(ValueRange arguments) {
  OpBuilder::InsertionGuard guard(builder);
  Value pointers = arguments[1], ranges = arguments[2], count = arguments[3];
  SmallVector<Value> carried;
  if (llvm::any_of(reductions, [](const ReductionAccess &access) { return access.isPartial(); }))
    carried.push_back(arguments[4]);
  auto loop = scf::ForOp::create(builder, loc, constantI64(0), count, constantI64(1), carried);
  builder.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar();
  number.setLoc(named(loc, "n"));
  Value streamCount = constantI64(interface.streamCount());
  locateStreams(
      elementPointer(builder, loc, pointers.getType(), pointers, multiply(number, streamCount)));
  loadSite(arguments[5], number);

  Value range = elementPointer(builder, loc, i64, ranges, multiply(number, constantI64(2)));
  Value begin = loadElements(builder, named(loc, "begin"), i64, range);
  Value end =
      loadElements(builder, named(loc, "end"), i64, elementPointer(builder, loc, i64, range, 1));
  Value partials = carried.empty() ? Value() : loop.getRegionIterArg(0);
  if (byRows)
    partials = blockLoop(begin, end, partials);
  else if (byBatches)
    batchLoop(begin, end);
  else if (!reductions.empty())
    partials = leafLoop(begin, end, partials);
  else
    rangeLoop(begin, end);
  if (!carried.empty())
    scf::YieldOp::create(builder, loc, partials);
}

// A flat sequence only has reductions over tensors and groups; rows and columns belong to matrices.
Value SweepBuilder::leafLoop(Value begin, Value end, Value partials) {
  OpBuilder::InsertionGuard guard(builder);
  Value leafSize = constantI64(UPD_LEAF_ELEMENTS);
  auto loop = scf::ForOp::create(builder, loc, begin, end, leafSize, partials);
  builder.setInsertionPointToStart(loop.getBody());
  Value leaf = loop.getInductionVar();
  leaf.setLoc(named(loc, "leaf"));
  Value full = arith::AddIOp::create(builder, loc, leaf, leafSize);
  Value leafEnd = arith::MinSIOp::create(builder, named(loc, "leaf_end"), full, end);
  fewLanes =
      usesFewLanes(builder, loc, arith::SubIOp::create(builder, loc, leafEnd, leaf), vectorLanes);
  rangeLoop(leaf, leafEnd);
  scf::YieldOp::create(builder, loc, storePartials(loop.getRegionIterArg(0)));
  return loop.getResult(0);
}

Value SweepBuilder::blockLoop(Value begin, Value end, Value partials) {
  OpBuilder::InsertionGuard guard(builder);
  if (llvm::any_of(reductions, [](const ReductionAccess &access) { return access.hasLanes(); }))
    fewLanes = usesFewLanes(builder, loc, columns, vectorLanes);
  auto loop = scf::ForOp::create(builder, loc, begin, end, constantI64(1),
                                 partials ? ValueRange(partials) : ValueRange());
  builder.setInsertionPointToStart(loop.getBody());
  Value block = loop.getInductionVar();
  block.setLoc(named(loc, "block"));
  Value blockRows = constantI64(UPD_BLOCK_ROWS);
  Value rounded = arith::AddIOp::create(builder, loc, rows, constantI64(UPD_BLOCK_ROWS - 1));
  Value blocksPerBatch = arith::DivUIOp::create(builder, loc, rounded, blockRows);
  Value batch = arith::DivUIOp::create(builder, named(loc, "batch"), block, blocksPerBatch);
  loadUniforms(Extent::batch, batch);
  Value firstBlock = multiply(batch, blocksPerBatch);
  Value firstRow = multiply(arith::SubIOp::create(builder, loc, block, firstBlock), blockRows);
  rowLoop(batch, firstRow, block);
  if (partials)
    scf::YieldOp::create(builder, loc, storePartials(loop.getRegionIterArg(0)));
  return partials ? loop.getResult(0) : Value();
}

// Sweeps over batches only reduce over batches.
void SweepBuilder::batchLoop(Value begin, Value end) {
  OpBuilder::InsertionGuard guard(builder);
  Value count = sweep.getOver() == Extent::row ? rows : columns;
  fewLanes = usesFewLanes(builder, loc, count, vectorLanes);
  auto loop = scf::ForOp::create(builder, loc, begin, end, constantI64(1));
  builder.setInsertionPointToStart(loop.getBody());
  Value batch = loop.getInductionVar();
  batch.setLoc(named(loc, "batch"));
  loadUniforms(Extent::batch, batch);
  origin.element = multiply(batch, count);
  elementLoop(constantI64(0), count);
  storeTotals(batch);
}

// Processes the rows of a block, starting with row `firstRow` of its batch.
void SweepBuilder::rowLoop(Value batch, Value firstRow, Value block) {
  OpBuilder::InsertionGuard guard(builder);
  Value full = arith::AddIOp::create(builder, loc, firstRow, constantI64(UPD_BLOCK_ROWS));
  Value rowEnd = arith::MinSIOp::create(builder, named(loc, "row_end"), full, rows);
  Value batchStart = multiply(batch, rows);
  origin.column = multiply(batch, columns);
  origin.sum = multiply(block, columns);
  resetColumnSums(origin.sum);

  auto loop = scf::ForOp::create(builder, loc, firstRow, rowEnd, constantI64(1));
  builder.setInsertionPointToStart(loop.getBody());
  loop.getInductionVar().setLoc(named(loc, "r"));
  Value row = arith::AddIOp::create(builder, loc, batchStart, loop.getInductionVar());
  origin.element = multiply(row, columns);
  origin.row = loop.getInductionVar();
  if (!blocks.empty())
    origin.scale = multiply(row, quantBlocksIn(columns));
  loadUniforms(Extent::row, row);
  rangeLoop(constantI64(0), columns);
  storeTotals(row);
}

// Resets the sums of a block's columns, starting with value `start` of their streams.
void SweepBuilder::resetColumnSums(Value start) {
  for (const ReductionAccess &access : reductions) {
    if (access.hasLanes())
      continue;
    OpBuilder::InsertionGuard guard(builder);
    auto loop = scf::ForOp::create(builder, loc, constantI64(0), columns, constantI64(1));
    builder.setInsertionPointToStart(loop.getBody());
    Value identity =
        reductionIdentity(builder, loc, access.reduction.getKind(), builder.getF64Type());
    WriteOp::create(builder, loc, identity, access.stream->elements,
                    {start, loop.getInductionVar()});
  }
}

// Stores the results of one row or batch.
void SweepBuilder::storeTotals(Value index) {
  for (auto [access, sums] : llvm::zip_equal(reductions, lanes))
    if (sums && access.stream)
      WriteOp::create(builder, loc, sums->take(builder, loc, fewLanes), access.stream->elements,
                      index);
}

// Stores one value per reduction over a tensor or group. Returns the address after them.
Value SweepBuilder::storePartials(Value partials) {
  Type f64 = builder.getF64Type();
  int32_t index = 0;
  for (auto [access, sums] : llvm::zip_equal(reductions, lanes))
    if (access.isPartial())
      storeElements(builder, loc, sums->take(builder, loc, fewLanes),
                    elementPointer(builder, loc, f64, partials, index++));
  return elementPointer(builder, loc, f64, partials, index);
}

} // namespace updraft
