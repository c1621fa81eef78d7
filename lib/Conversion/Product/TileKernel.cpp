//===- TileKernel.cpp - One tile of a product -------------------------------------------------===//
// Almost all time of a product is spent in the loop of this function. Its sums stay in registers.
// Elements are vectors along a row of the result, so each lane is one element's chain of fused
// multiply-adds. With pairs, a lane adds the products of two elements at a time.

#include "../KernelMemory.h"
#include "ProductCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace updraft {

namespace {

class TileKernel {
public:
  TileKernel(ProductCode &code, unsigned rows, PanelElements elements)
      : code(code), tiles(code.tiles), rows(rows), vectors(tiles.columns / tiles.lanes),
        elements(elements) {}

  void build(ValueRange arguments) {
    Value result = arguments[3], resultRow = arguments[4];
    prefetch(code.at(result, code.multiply(resultRow, code.constant(rows))), resultRow);
    SmallVector<Value> carried{arguments[0], arguments[1]};
    llvm::append_range(carried, firstSums(result, resultRow, arguments[5]));
    Value depth = arguments[2];
    if (elements == PanelElements::Pairs)
      depth = arith::ShRUIOp::create(code.builder, code.loc, code.add(depth, code.constant(1)),
                                     code.constant(1));
    Value unrolled = code.roundDown(depth, tiles.unroll);
    carried = loop(code.constant(0), unrolled, tiles.unroll, carried);
    if (tiles.unroll > 1)
      carried = loop(unrolled, depth, 1, carried);
    storeSums(ValueRange(carried).drop_front(2), result, resultRow);
    func::ReturnOp::create(code.builder, code.loc);
  }

private:
  // The tile that is most often computed next is the one below. Its partial result is loaded first,
  // and its sums wait for it.
  void prefetch(Value result, Value resultRow) {
    constexpr uint32_t toWrite = 1, keepInAllCaches = 3, isData = 1;
    const unsigned lineElements = 64 / elementBytes(code.compute);
    for (unsigned row = 0; row < rows; ++row) {
      for (unsigned column = 0; column < tiles.columns; column += lineElements)
        LLVM::Prefetch::create(code.builder, code.loc, code.at(result, column), toWrite,
                               keepInAllCaches, isData);
      result = code.at(result, resultRow);
    }
  }

  SmallVector<Value> firstSums(Value result, Value resultRow, Value continues) {
    OpBuilder::InsertionGuard guard(code.builder);
    SmallVector<Type> types(rows * vectors, VectorType::get(tiles.lanes, code.compute));
    auto branch =
        scf::IfOp::create(code.builder, code.loc, types, continues, /*withElseRegion=*/true);
    code.builder.setInsertionPointToStart(branch.elseBlock());
    SmallVector<Value> zeros(types.size(), code.zero(tiles.lanes));
    scf::YieldOp::create(code.builder, code.loc, zeros);
    code.builder.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> loaded;
    for (unsigned row = 0; row < rows; ++row) {
      for (unsigned vector = 0; vector < vectors; ++vector)
        loaded.push_back(code.load(code.at(result, vector * tiles.lanes), tiles.lanes));
      result = code.at(result, resultRow);
    }
    scf::YieldOp::create(code.builder, code.loc, loaded);
    return branch.getResults();
  }

  void storeSums(ValueRange sums, Value result, Value resultRow) {
    for (unsigned row = 0; row < rows; ++row) {
      for (unsigned vector = 0; vector < vectors; ++vector)
        code.store(sums[row * vectors + vector], code.at(result, vector * tiles.lanes));
      result = code.at(result, resultRow);
    }
  }

  /// Carries the addresses in both panels, then the sums.
  SmallVector<Value> loop(Value lower, Value upper, unsigned steps, ValueRange carried) {
    OpBuilder::InsertionGuard guard(code.builder);
    auto loop =
        scf::ForOp::create(code.builder, code.loc, lower, upper, code.constant(steps), carried);
    code.builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next(loop.getRegionIterArgs());
    for (unsigned step = 0; step < steps; ++step)
      addProducts(code.at(next[0], step * tiles.rows), code.at(next[1], step * tiles.columns),
                  MutableArrayRef(next).drop_front(2));
    next[0] = code.at(next[0], steps * tiles.rows);
    next[1] = code.at(next[1], steps * tiles.columns);
    scf::YieldOp::create(code.builder, code.loc, next);
    return loop.getResults();
  }

  void addProducts(Value lhs, Value rhs, MutableArrayRef<Value> sums) {
    SmallVector<Value> columns;
    for (unsigned vector = 0; vector < vectors; ++vector)
      columns.push_back(code.load(code.at(rhs, vector * tiles.lanes), tiles.lanes));
    Value lanes;
    for (unsigned row = 0; row < rows; ++row) {
      Value factor = tiles.loadsLanes ? laneOf(lhs, row, lanes) : elementOf(lhs, row);
      for (unsigned vector = 0; vector < vectors; ++vector) {
        Value &sum = sums[row * vectors + vector];
        sum = multiplyAdd(factor, columns[vector], sum);
      }
    }
  }

  Value multiplyAdd(Value factor, Value column, Value sum) {
    // LLVM may round `vector.fma` twice.
    if (elements == PanelElements::Single)
      return math::FmaOp::create(code.builder, code.loc, factor, column, sum);
    auto pairs = VectorType::get(2 * tiles.lanes, code.builder.getBF16Type());
    auto pairsOf = [&](Value vector) -> Value {
      return vector::BitCastOp::create(code.builder, code.loc, pairs, vector);
    };
    return LLVM::CallIntrinsicOp::create(
               code.builder, code.loc, sum.getType(),
               code.builder.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"),
               ValueRange{sum, pairsOf(factor), pairsOf(column)})
        .getResult(0);
  }

  Value elementOf(Value lhs, unsigned row) {
    Value element = code.load(code.at(lhs, row), 1);
    return vector::BroadcastOp::create(code.builder, code.loc,
                                       VectorType::get(tiles.lanes, code.compute), element);
  }

  Value laneOf(Value lhs, unsigned row, Value &lanes) {
    if (row % tiles.lanes == 0)
      lanes = code.load(code.at(lhs, row), tiles.lanes);
    SmallVector<int64_t> mask(tiles.lanes, row % tiles.lanes);
    return code.shuffle(lanes, lanes, mask);
  }

  ProductCode &code;
  const ProductTiles &tiles;
  unsigned rows;
  unsigned vectors; ///< in a row of the tile
  PanelElements elements;
};

} // namespace

func::FuncOp buildTileFunction(ProductCode &code, StringRef name, unsigned rows,
                               PanelElements elements) {
  auto function = code.startFunction(
      name + "_tile" + Twine(rows),
      {code.pointer, code.pointer, code.i64, code.pointer, code.i64, code.builder.getI1Type()},
      {"lhs", "rhs", "depth", "result", "result_row", "continues"});
  TileKernel(code, rows, elements).build(function.getArguments());
  return function;
}

} // namespace updraft
