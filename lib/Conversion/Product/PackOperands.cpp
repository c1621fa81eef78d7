//===- PackOperands.cpp - Copies of the operands' blocks for tiles ----------------------------===//
// A panel has `width` elements for each step of the depth. Panels at the edge are filled up with
// zeros or copies of other elements; the products with these are never stored. A panel of pairs is
// made of a panel of elements, in the same memory.

#include "ProductCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace updraft {

namespace {

class PackCode {
public:
  PackCode(ProductCode &code, unsigned width, func::FuncOp transpose, ValueRange arguments)
      : code(code), width(width), transpose(transpose), from(arguments[0]), distance(arguments[1]),
        depthDistance(arguments[2]), count(arguments[3]), depth(arguments[4]), to(arguments[5]) {}

  void build() {
    Value perPanel = code.multiply(distance, code.constant(width));
    Value panelSize = code.multiply(depth, code.constant(width));
    code.loop(code.constant(0), count, width, {from, to}, {perPanel, panelSize},
              [&](Value first, ValueRange addresses) {
                Value valid = code.smaller(code.subtract(count, first), code.constant(width));
                panel(addresses[0], addresses[1], valid);
                if (code.hasPairs)
                  makePairs(addresses[1]);
              });
    func::ReturnOp::create(code.builder, code.loc);
  }

private:
  void panel(Value source, Value target, Value valid) {
    OpBuilder &builder = code.builder;
    OpBuilder::InsertionGuard guard(builder);
    Value one = code.constant(1);
    Value isCopied =
        code.both(code.isEqual(valid, code.constant(width)), code.isEqual(distance, one));
    // The steps of the depth that are copied as vectors.
    auto unit = scf::IfOp::create(builder, code.loc, code.i64, isCopied, true);
    builder.setInsertionPointToStart(unit.thenBlock());
    copyVectors(source, target);
    scf::YieldOp::create(builder, code.loc, depth);
    builder.setInsertionPointToStart(unit.elseBlock());
    auto depthUnit =
        scf::IfOp::create(builder, code.loc, code.i64, code.isEqual(depthDistance, one), true);
    scf::YieldOp::create(builder, code.loc, depthUnit.getResults());
    builder.setInsertionPointToStart(depthUnit.thenBlock());
    Value whole = code.roundDown(depth, code.tiles.lanes);
    transposeBlocks(source, target, valid, whole);
    scf::YieldOp::create(builder, code.loc, whole);
    builder.setInsertionPointToStart(depthUnit.elseBlock());
    scf::YieldOp::create(builder, code.loc, code.constant(0));

    builder.setInsertionPointAfter(unit);
    copyElements(source, target, valid, unit.getResult(0));
  }

  void copyVectors(Value source, Value target) {
    code.loop(code.constant(0), depth, 1, {source, target}, {depthDistance, code.constant(width)},
              [&](Value, ValueRange addresses) {
                for (auto [first, lanes] : code.parts(width))
                  code.store(code.load(code.at(addresses[0], first), lanes),
                             code.at(addresses[1], first));
              });
  }

  // Elements next to each other in memory are next to each other in depth. A vector that goes
  // beyond the end of its panel changes the elements of the next step, or the next panel. These are
  // stored after it, because the panel's last vectors come first.
  void transposeBlocks(Value source, Value target, Value valid, Value whole) {
    const unsigned lanes = code.tiles.lanes;
    const unsigned vectors = (width + lanes - 1) / lanes;
    Value lastValid = code.subtract(valid, code.constant(1));
    Value blocks = arith::DivUIOp::create(code.builder, code.loc, whole, code.constant(lanes));
    Value widthValue = code.constant(width);
    code.loop(code.constant(0), code.constant(vectors), code.constant(1), [&](Value number) {
      Value vector = code.subtract(code.constant(vectors - 1), number);
      Value first = code.multiply(vector, code.constant(lanes));
      Value row = code.smaller(first, lastValid);
      Value from = code.at(source, code.multiply(row, distance));
      func::CallOp::create(
          code.builder, code.loc, transpose,
          {from, distance, code.at(target, first), widthValue, code.subtract(valid, row), blocks});
    });
  }

  void copyElements(Value source, Value target, Value valid, Value start) {
    Value widthValue = code.constant(width);
    source = code.at(source, code.multiply(start, depthDistance));
    target = code.at(target, code.multiply(start, widthValue));
    Value one = code.constant(1);
    code.loop(start, depth, 1, {source, target}, {depthDistance, widthValue},
              [&](Value, ValueRange addresses) {
                Value next = addresses[1];
                code.loop(
                    code.constant(0), valid, 1, {addresses[0], next}, {distance, one},
                    [&](Value, ValueRange inner) { code.store(code.load(inner[0], 1), inner[1]); });
                code.loop(valid, widthValue, one,
                          [&](Value lane) { code.store(code.zero(1), code.at(next, lane)); });
              });
  }

  // A pair is stored where no element is needed any more.
  void makePairs(Value panel) {
    Value whole = code.roundDown(depth, 2);
    Value step = code.constant(width), twoSteps = code.constant(int64_t(width) * 2);
    code.loop(code.constant(0), whole, 2, {panel, panel}, {twoSteps, step},
              [&](Value, ValueRange addresses) {
                for (auto [first, lanes] : code.parts(width)) {
                  Value even = code.load(code.at(addresses[0], first), lanes);
                  Value odd = code.load(code.at(addresses[0], first + width), lanes);
                  code.store(pairOf(even, odd), code.at(addresses[1], first));
                }
              });
    code.branch(code.isLess(whole, depth), [&] {
      Value last = code.at(panel, code.multiply(whole, step));
      Value pair = arith::DivUIOp::create(code.builder, code.loc, whole, code.constant(2));
      Value target = code.at(panel, code.multiply(pair, step));
      for (auto [first, lanes] : code.parts(width))
        code.store(pairOf(code.load(code.at(last, first), lanes), code.zero(lanes)),
                   code.at(target, first));
    });
  }

  Value pairOf(Value even, Value odd) {
    OpBuilder &builder = code.builder;
    auto type = cast<VectorType>(even.getType());
    auto rounded = [&](Value elements) -> Value {
      return arith::TruncFOp::create(builder, code.loc, type.clone(builder.getBF16Type()),
                                     elements);
    };
    Value pairs = vector::InterleaveOp::create(builder, code.loc, rounded(even), rounded(odd));
    return vector::BitCastOp::create(builder, code.loc, type, pairs);
  }

  ProductCode &code;
  unsigned width;
  func::FuncOp transpose;
  Value from, distance, depthDistance, count, depth, to;
};

} // namespace

func::FuncOp buildPackFunction(ProductCode &code, const Twine &name, unsigned width,
                               func::FuncOp transpose) {
  auto function =
      code.startFunction(name, {code.pointer, code.i64, code.i64, code.i64, code.i64, code.pointer},
                         {"from", "distance", "depth_distance", "count", "depth", "to"});
  PackCode(code, width, transpose, function.getArguments()).build();
  return function;
}

func::FuncOp buildCopyFunction(ProductCode &code, StringRef name, bool adds) {
  SmallVector<Type> types{code.pointer, code.i64, code.pointer, code.i64, code.i64, code.i64};
  SmallVector<StringRef> names{"from", "from_row", "to", "to_row", "rows", "columns"};
  if (adds) {
    types.append(2, code.pointer);
    names.append({"matrix", "term"});
  }
  auto function = code.startFunction(name + (adds ? "_add" : "_copy"), types, names);
  auto argument = [&](unsigned number) -> Value { return function.getArgument(number); };
  ProductCode::Term term;
  SmallVector<Value> first{argument(0), argument(2)}, distances{argument(1), argument(3)};
  if (adds) {
    term = code.loadTerm(argument(7));
    first.push_back(argument(6));
    distances.push_back(term.row);
  }
  const unsigned lanes = code.tiles.lanes;
  Value columns = argument(5);
  Value whole = code.roundDown(columns, lanes);
  Value rest = code.subtract(columns, whole);
  Value mask = code.tiles.maskRemainder ? code.firstLanes(rest) : Value();
  code.loop(code.constant(0), argument(4), 1, first, distances, [&](Value, ValueRange rows) {
    auto copy = [&](Value column, unsigned count, Value mask) {
      Value value = code.load(code.at(rows[0], column), count, mask);
      if (adds)
        value = code.addTo(value, code.load(code.at(rows[2], column), count, mask), term);
      code.store(value, code.at(rows[1], column), mask);
    };
    code.loop(code.constant(0), whole, code.constant(lanes),
              [&](Value column) { copy(column, lanes, {}); });
    if (mask)
      copy(whole, lanes, mask);
    else
      code.loop(whole, columns, code.constant(1), [&](Value column) { copy(column, 1, {}); });
  });
  func::ReturnOp::create(code.builder, code.loc);
  return function;
}

} // namespace updraft
