//===- MirrorFunction.cpp - From the lower triangle of a matrix to the upper ------------------===//
// Transposes square blocks, with as many rows as a vector has lanes, up to the diagonal. The block
// on the diagonal goes through memory of its own, because only half of its transpose is stored.

#include "ProductCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace updraft {

namespace {

class MirrorCode {
public:
  MirrorCode(ProductCode &code, func::FuncOp transpose, Value matrix, Value rowDistance)
      : code(code), transpose(transpose), lanes(code.tiles.lanes), matrix(matrix),
        rowDistance(rowDistance) {
    Type array = LLVM::LLVMArrayType::get(code.compute, lanes * lanes);
    scratch = LLVM::AllocaOp::create(code.builder, code.loc, code.pointer, array, code.constant(1),
                                     /*alignment=*/64);
  }

  void build(Value begin, Value end) {
    Value size = code.constant(lanes), one = code.constant(1), zero = code.constant(0);
    Value last = code.subtract(end, size); // the first row of the last block
    code.branch(
        code.isLess(last, begin),
        [&] { code.loop(begin, end, one, [&](Value row) { elements(row, zero, row); }); },
        [&] {
          // The last block may overlap the one before it.
          code.loop(begin, end, size, [&](Value number) { rowsFrom(code.smaller(number, last)); });
        });
    func::ReturnOp::create(code.builder, code.loc);
  }

private:
  Value addressOf(Value row, Value column) {
    return code.at(code.at(matrix, code.multiply(row, rowDistance)), column);
  }

  /// Copies elements of a row, one at a time.
  void elements(Value row, Value lower, Value upper) {
    code.loop(lower, upper, 1, {addressOf(row, lower), addressOf(lower, row)},
              {code.constant(1), rowDistance}, [&](Value, ValueRange addresses) {
                code.store(code.load(addresses[0], 1), addresses[1]);
              });
  }

  void rowsFrom(Value row) {
    Value size = code.constant(lanes), zero = code.constant(0);
    Value before = code.subtract(row, code.roundDown(row, lanes));
    code.loop(row, code.add(row, size), code.constant(1),
              [&](Value each) { elements(each, zero, before); });
    transposeBlocks(
        addressOf(row, before), addressOf(before, row), rowDistance,
        arith::DivUIOp::create(code.builder, code.loc, code.subtract(row, before), size));
    transposeBlocks(addressOf(row, row), scratch, size, code.constant(1));
    copyUpper(addressOf(row, row));
  }

  void transposeBlocks(Value from, Value to, Value toRow, Value count) {
    func::CallOp::create(code.builder, code.loc, transpose,
                         {from, rowDistance, to, toRow, code.constant(lanes), count});
  }

  /// Copies the elements above the diagonal.
  void copyUpper(Value address) {
    Value size = code.constant(lanes), one = code.constant(1);
    code.loop(code.constant(0), size, 1, {scratch, address}, {size, rowDistance},
              [&](Value row, ValueRange rows) {
                code.loop(code.add(row, one), size, one, [&](Value column) {
                  code.store(code.load(code.at(rows[0], column), 1), code.at(rows[1], column));
                });
              });
  }

  ProductCode &code;
  func::FuncOp transpose;
  unsigned lanes;
  Value matrix, rowDistance, scratch;
};

} // namespace

void buildMirrorFunction(ProductCode &code, StringRef name, func::FuncOp transpose) {
  auto function = code.startFunction(name, {code.pointer, code.i64, code.i64, code.i64},
                                     {"matrix", "row_distance", "begin", "end"},
                                     /*isPrivate=*/false);
  MirrorCode(code, transpose, function.getArgument(0), function.getArgument(1))
      .build(function.getArgument(2), function.getArgument(3));
}

} // namespace updraft
