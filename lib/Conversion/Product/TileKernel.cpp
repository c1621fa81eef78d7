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
#include "updraft-c/kernel.h"

#include <cstddef>

using namespace mlir;

namespace updraft {

namespace {

/// Returns LLVM's intrinsic for an instruction. Its operands are a vector of sums and two of bf16.
StringRef intrinsicOf(DotInstruction instruction) {
  switch (instruction) {
  case DotInstruction::VDPBF16PS:
    return "llvm.x86.avx512bf16.dpbf16ps.512";
  case DotInstruction::BFDOT:
    return "llvm.aarch64.neon.bfdot.v4f32.v8bf16";
  case DotInstruction::None:
    break;
  }
  llvm_unreachable("panels have no pairs");
}

class TileKernel {
public:
  TileKernel(ProductCode &code, unsigned rows)
      : code(code), tiles(code.tiles), rows(rows), vectors(tiles.columns / tiles.lanes) {}

  void build(ValueRange arguments) {
    Value result = arguments[3], resultRow = arguments[4];
    prefetch(code.at(result, code.multiply(resultRow, code.constant(rows))), resultRow);
    SmallVector<Value> carried{arguments[0], arguments[1]};
    llvm::append_range(carried, firstSums(result, resultRow, arguments[5]));
    Value depth = arguments[2];
    if (code.hasPairs)
      depth = arith::ShRUIOp::create(code.builder, code.loc, code.add(depth, code.constant(1)),
                                     code.constant(1));
    Value unrolled = code.roundDown(depth, tiles.unroll);
    carried = loop(code.constant(0), unrolled, tiles.unroll, carried);
    if (tiles.unroll > 1)
      carried = loop(unrolled, depth, 1, carried);
    auto sums = ValueRange(carried).drop_front(2);
    if (code.hasAddends())
      storeWith(sums, result, resultRow, arguments.drop_front(6));
    else
      storeSums(sums, result, resultRow);
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

  // `more` are the addend, the target if there may be one, and the upd_product_sum.
  void storeWith(ValueRange sums, Value result, Value resultRow, ValueRange more) {
    OpBuilder::InsertionGuard guard(code.builder);
    Value addend = more.front(), record = more.back();
    auto branch = scf::IfOp::create(code.builder, code.loc, sums.getTypes(), code.isAddress(addend),
                                    /*withElseRegion=*/true);
    code.builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(code.builder, code.loc, sums);
    code.builder.setInsertionPointToStart(branch.thenBlock());
    const ProductCode::Term added =
        code.loadTerm(code.termOf(record, offsetof(upd_product_sum, addend)));
    scf::YieldOp::create(code.builder, code.loc, sumsWith(sums, addend, added));
    code.builder.setInsertionPointAfter(branch);
    auto store = [&] { storeSums(branch.getResults(), result, resultRow); };
    if (!code.epilogue.hasTargets)
      return store();
    Value target = more[1];
    code.branch(
        code.isAddress(target),
        [&] {
          const ProductCode::Term updated =
              code.loadTerm(code.termOf(record, offsetof(upd_product_update, target)));
          storeSums(sumsWith(branch.getResults(), target, updated), target, updated.row);
        },
        store);
  }

  SmallVector<Value> sumsWith(ValueRange sums, Value matrix, const ProductCode::Term &term) {
    SmallVector<Value> added;
    for (unsigned row = 0; row < rows; ++row) {
      for (unsigned vector = 0; vector < vectors; ++vector)
        added.push_back(code.addTo(sums[row * vectors + vector],
                                   code.load(code.at(matrix, vector * tiles.lanes), tiles.lanes),
                                   term));
      matrix = code.at(matrix, term.row);
    }
    return added;
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
    SmallVector<Value> loaded = loadLanes(lhs);
    for (unsigned row = 0; row < rows; ++row) {
      Value factor = loaded.empty() ? elementOf(lhs, row) : laneOf(loaded, row);
      for (unsigned vector = 0; vector < vectors; ++vector) {
        Value &sum = sums[row * vectors + vector];
        sum = multiplyAdd(factor, columns[vector], sum);
      }
    }
  }

  Value multiplyAdd(Value factor, Value column, Value sum) {
    // LLVM may round `vector.fma` twice.
    if (!code.hasPairs)
      return math::FmaOp::create(code.builder, code.loc, factor, column, sum);
    auto pairs = VectorType::get(2 * tiles.lanes, code.builder.getBF16Type());
    auto pairsOf = [&](Value vector) {
      return code.builder.createOrFold<vector::BitCastOp>(code.loc, pairs, vector);
    };
    // BFDOT broadcasts a lane of its last operand.
    return LLVM::CallIntrinsicOp::create(code.builder, code.loc, sum.getType(),
                                         code.builder.getStringAttr(intrinsicOf(code.dot)),
                                         ValueRange{sum, pairsOf(column), pairsOf(factor)})
        .getResult(0);
  }

  Value elementOf(Value lhs, unsigned row) {
    Value element = code.load(code.at(lhs, row), 1);
    return vector::BroadcastOp::create(code.builder, code.loc,
                                       VectorType::get(tiles.lanes, code.compute), element);
  }

  /// Returns the elements of lhs in vectors, if these are used by lanes.
  SmallVector<Value> loadLanes(Value lhs) {
    SmallVector<Value> loaded;
    if (!tiles.loadsLanes)
      return loaded;
    if (code.dot == DotInstruction::BFDOT && (rows == 4 || rows == 8))
      return loadPairs(lhs);
    for (unsigned row = 0; row < rows; row += tiles.lanes)
      loaded.push_back(code.load(code.at(lhs, row), tiles.lanes));
    return loaded;
  }

  /// Returns the pairs of lhs in two vectors of bf16. LLVM 22 makes the form of BFDOT that takes a
  /// lane only of vectors with this type, and not of ordinary loads. Otherwise it broadcasts the
  /// lane first, which takes a unit that could multiply.
  SmallVector<Value> loadPairs(Value lhs) {
    OpBuilder &builder = code.builder;
    Type half = VectorType::get(rows, builder.getBF16Type());
    auto both = LLVM::CallIntrinsicOp::create(
        builder, code.loc, LLVM::LLVMStructType::getLiteral(builder.getContext(), {half, half}),
        builder.getStringAttr("llvm.aarch64.neon.ld1x2.v" + Twine(rows) + "bf16.p0"),
        ValueRange{lhs});
    SmallVector<Value> loaded;
    for (int64_t number : {0, 1})
      loaded.push_back(LLVM::ExtractValueOp::create(builder, code.loc, both.getResult(0), number));
    return loaded;
  }

  /// Returns a vector with the row's element or pair in each lane.
  Value laneOf(ArrayRef<Value> loaded, unsigned row) {
    auto type = cast<VectorType>(loaded.front().getType());
    const int64_t elements = type.getElementType().isBF16() ? 2 : 1;
    const int64_t lanes = type.getNumElements() / elements;
    SmallVector<int64_t> mask;
    for (unsigned lane = 0; lane < tiles.lanes; ++lane)
      for (int64_t element = 0; element < elements; ++element)
        mask.push_back(row % lanes * elements + element);
    Value vector = loaded[row / lanes];
    return code.shuffle(vector, vector, mask);
  }

  ProductCode &code;
  const ProductTiles &tiles;
  unsigned rows;
  unsigned vectors; ///< in a row of the tile
};

} // namespace

func::FuncOp buildTileFunction(ProductCode &code, StringRef name, unsigned rows) {
  SmallVector<Type> types{code.pointer, code.pointer, code.i64,
                          code.pointer, code.i64,     code.builder.getI1Type()};
  SmallVector<StringRef> names{"lhs", "rhs", "depth", "result", "result_row", "continues"};
  if (code.hasAddends()) {
    types.append(code.epilogue.hasTargets ? 3 : 2, code.pointer);
    names.push_back("addend");
    if (code.epilogue.hasTargets)
      names.push_back("target");
    names.push_back("sum");
  }
  auto function = code.startFunction(name + "_tile" + Twine(rows), types, names);
  TileKernel(code, rows).build(function.getArguments());
  return function;
}

} // namespace updraft
