//===- ProductFunction.cpp - The loops of a product around its tiles --------------------------===//
// From the outside in: blocks of columns, blocks of the depth, which are in order for each element,
// blocks of rows, and the tiles of a block. After all but the last block of the depth, the result
// holds partial sums. The tiles of the last block are added to the addend and to the target, if
// there are any.

#include "../KernelMemory.h"
#include "ProductCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "updraft-c/kernel.h"

#include <cstddef>
#include <limits>

using namespace mlir;

namespace updraft {

namespace {

class ProductLoops {
public:
  ProductLoops(ProductCode &code, const ProductParts &parts)
      : code(code), tiles(code.tiles), parts(parts) {}

  void build(Value product) {
    loadFields(product);
    limitColumns();
    Value zero = code.constant(0);
    Value columnStep = evenBlock(columns, tiles.colBlock, tiles.columns);
    Value depthStep = evenBlock(depth, tiles.depthBlock, tiles.unroll);
    Value rowStep = evenBlock(rows, tiles.rowBlock, tiles.rows);
    code.loop(zero, columns, columnStep, [&](Value column) {
      Value columnCount = code.smaller(columnStep, code.subtract(columns, column));
      // A product of depth 0 has one empty block, so that its tiles are stored.
      code.loop(zero, code.larger(depth, code.constant(1)), depthStep, [&](Value k) {
        Value depthCount = code.smaller(depthStep, code.subtract(depth, k));
        pack(parts.packRhs, rhs, rhsColumn, column, rhsRow, k, columnCount, depthCount, packedRhs);
        code.loop(firstRow(column, tiles.rows), rows, rowStep, [&](Value row) {
          Value rowCount = code.smaller(rowStep, code.subtract(rows, row));
          pack(parts.packLhs, lhs, lhsRow, row, lhsColumn, k, rowCount, depthCount, packedLhs);
          Value isLast = code.isLess(depth, code.add(code.add(k, depthStep), code.constant(1)));
          Block block{row, rowCount, column, columnCount, depthCount, code.isLess(zero, k)};
          for (const Added &term : terms)
            block.adds.push_back(code.both(term.exists, isLast));
          tileLoops(block);
        });
      });
    });
    func::ReturnOp::create(code.builder, code.loc);
  }

private:
  /// A block of the result, and the block of the depth whose products are added.
  struct Block {
    Value row, rowCount, column, columnCount, depthCount;
    Value continues;                 ///< whether that isn't the first block of the depth
    SmallVector<Value, 2> adds = {}; ///< whether it is the last one, and there is the term
  };

  /// A matrix that may be added to a tile: the addend, or the target.
  struct Added {
    Value members; ///< of the upd_product_update
    Value matrix, row, exists;
  };

  void loadFields(Value product) {
    int32_t index = 0;
    auto next = [&](Type type) {
      Value address = elementPointer(code.builder, code.loc, code.i64, product, index++);
      return loadElements(code.builder, code.loc, type, address);
    };
    // The order is that of upd_product.
    for (Value *field : {&lhs, &lhsRow, &lhsColumn, &rhs, &rhsRow, &rhsColumn, &result, &resultRow,
                         &rows, &columns, &depth, &below, &scratch}) {
      const bool isPointer =
          field == &lhs || field == &rhs || field == &result || field == &scratch;
      *field = next(isPointer ? code.pointer : code.i64);
    }
    if (code.hasAddends()) {
      sum = product;
      SmallVector<size_t, 2> members{offsetof(upd_product_sum, addend)};
      if (code.epilogue.hasTargets)
        members.push_back(offsetof(upd_product_update, target));
      for (size_t member : members) {
        index = static_cast<int32_t>(member / sizeof(int64_t));
        Added &term = terms.emplace_back();
        term.members = code.termOf(sum, member);
        term.matrix = next(code.pointer);
        term.row = next(code.i64);
        term.exists = code.isAddress(term.matrix);
      }
    }
    packedLhs = code.at(scratch, tiles.lhsOffset());
    packedRhs = code.at(scratch, tiles.rhsOffset());
  }

  // Leaves out the columns that no row needs. Limits `below` before, so that no sum overflows.
  void limitColumns() {
    Value zero = code.constant(0);
    Value least = code.subtract(zero, rows);
    below = code.larger(least, code.smaller(below, columns));
    columns = code.smaller(columns, code.add(rows, below));
  }

  /// Returns the size of equal blocks, at most `most` and a multiple of `unit`.
  Value evenBlock(Value size, int64_t most, int64_t unit) {
    auto quotient = [&](Value value, Value divisor) -> Value {
      return arith::DivUIOp::create(code.builder, code.loc, value, divisor);
    };
    Value count = quotient(code.add(size, code.constant(most - 1)), code.constant(most));
    Value atLeastOne = code.larger(count, code.constant(1));
    Value each = quotient(code.add(size, code.subtract(atLeastOne, code.constant(1))), atLeastOne);
    Value rounded = code.roundDown(code.add(each, code.constant(unit - 1)), unit);
    return code.larger(rounded, code.constant(unit));
  }

  /// Returns the first row that needs an element in `column` or after, rounded down to `unit`.
  Value firstRow(Value column, int64_t unit) {
    Value row = code.larger(code.subtract(column, below), code.constant(0));
    return code.roundDown(row, unit);
  }

  void pack(func::FuncOp function, Value operand, Value distance, Value first, Value depthDistance,
            Value k, Value count, Value depthCount, Value to) {
    Value shifted = code.at(operand, code.multiply(first, distance));
    Value from = code.at(shifted, code.multiply(k, depthDistance));
    func::CallOp::create(code.builder, code.loc, function,
                         {from, distance, depthDistance, count, depthCount, to});
  }

  void tileLoops(const Block &block) {
    code.loop(code.constant(0), block.columnCount, code.constant(tiles.columns), [&](Value column) {
      auto neededIn = [&](int64_t unit) {
        Value needed = firstRow(code.add(block.column, column), unit);
        return code.larger(code.subtract(needed, block.row), code.constant(0));
      };
      Value needed = neededIn(tiles.edgeRows);
      code.loop(neededIn(tiles.rows), block.rowCount, code.constant(tiles.rows),
                [&](Value row) { tile(block, row, column, needed); });
    });
  }

  /// Computes the tile at `row` and `column` of the block, which are multiples of a tile's. Leaves
  /// out rows before `needed`.
  void tile(const Block &block, Value row, Value column, Value needed) {
    Value lhsPanel = code.at(packedLhs, code.multiply(row, block.depthCount));
    Value rhsPanel = code.at(packedRhs, code.multiply(column, block.depthCount));
    auto inMatrix = [&](Value matrix, Value matrixRow) {
      Value start = code.multiply(code.add(block.row, row), matrixRow);
      return code.at(code.at(matrix, start), code.add(block.column, column));
    };
    SmallVector<Value> addresses{inMatrix(result, resultRow)}, distances{resultRow};
    for (const Added &term : terms) {
      addresses.push_back(inMatrix(term.matrix, term.row));
      distances.push_back(term.row);
    }
    Value tileRows = code.constant(tiles.rows), tileColumns = code.constant(tiles.columns);
    Value skipped = code.larger(code.subtract(needed, row), code.constant(0));
    Value validRows = code.smaller(code.subtract(block.rowCount, row), tileRows);
    Value validColumns = code.smaller(code.subtract(block.columnCount, column), tileColumns);
    Value hasColumns = code.isEqual(validColumns, tileColumns);
    Value hasRows = code.isEqual(code.subtract(validRows, skipped), tileRows);
    Value isWhole = code.both(hasColumns, hasRows);
    code.branch(
        isWhole, [&] { compute(parts.tile, block, lhsPanel, rhsPanel, addresses); },
        [&] {
          Value edgeRows = code.constant(tiles.edgeRows);
          for (auto [address, distance] : llvm::zip_equal(addresses, distances)) {
            address = code.at(address, code.multiply(skipped, distance));
            distance = code.multiply(distance, edgeRows);
          }
          addresses.insert(addresses.begin(), code.at(lhsPanel, skipped));
          distances.insert(distances.begin(), edgeRows);
          code.loop(skipped, validRows, tiles.edgeRows, addresses, distances,
                    [&](Value first, ValueRange next) {
                      Value count = code.smaller(code.subtract(validRows, first), edgeRows);
                      edgeTile(block, next[0], rhsPanel, next.drop_front(), count, validColumns);
                    });
        });
  }

  /// Computes a lower tile, of which `rows` and `columns` are stored. The addresses are those of
  /// the tile in the result and in the matrices of the terms.
  void edgeTile(const Block &block, Value lhsPanel, Value rhsPanel, ValueRange addresses,
                Value rows, Value columns) {
    Value tileColumns = code.constant(tiles.columns), ofResult = addresses[0];
    auto copy = [&](Value from, Value fromRow, Value to, Value toRow) {
      func::CallOp::create(code.builder, code.loc, parts.copy,
                           {from, fromRow, to, toRow, rows, columns});
    };
    Value isWhole = code.both(code.isEqual(columns, tileColumns),
                              code.isEqual(rows, code.constant(tiles.edgeRows)));
    code.branch(
        isWhole, [&] { compute(parts.edgeTile, block, lhsPanel, rhsPanel, addresses); },
        [&] {
          code.branch(block.continues, [&] { copy(ofResult, resultRow, scratch, tileColumns); });
          SmallVector<Value, 2> none;
          if (sum)
            none.assign(terms.size(), code.null());
          computeInto(parts.edgeTile, block, lhsPanel, rhsPanel, scratch, tileColumns, none);
          auto store = [&] { copy(scratch, tileColumns, ofResult, resultRow); };
          if (!sum)
            return store();
          auto addInto = [&](size_t term, Value to, Value toRow) {
            func::CallOp::create(code.builder, code.loc, parts.add,
                                 {scratch, tileColumns, to, toRow, rows, columns,
                                  addresses[1 + term], terms[term].members});
          };
          if (!code.epilogue.hasTargets)
            return code.branch(block.adds[0], [&] { addInto(0, ofResult, resultRow); }, store);
          code.branch(block.adds[0], [&] { addInto(0, scratch, tileColumns); });
          code.branch(block.adds[1], [&] { addInto(1, addresses[2], terms[1].row); }, store);
        });
  }

  /// Computes a tile in place.
  void compute(func::FuncOp function, const Block &block, Value lhsPanel, Value rhsPanel,
               ValueRange addresses) {
    SmallVector<Value> added;
    for (auto [adds, address] : llvm::zip_equal(block.adds, addresses.drop_front()))
      added.push_back(arith::SelectOp::create(code.builder, code.loc, adds, address, code.null()));
    computeInto(function, block, lhsPanel, rhsPanel, addresses[0], resultRow, added);
  }

  /// `added` has the addresses of the terms' matrices, or null.
  void computeInto(func::FuncOp function, const Block &block, Value lhsPanel, Value rhsPanel,
                   Value to, Value toRow, ValueRange added) {
    SmallVector<Value> arguments{lhsPanel, rhsPanel, block.depthCount, to, toRow, block.continues};
    if (sum) {
      llvm::append_range(arguments, added);
      arguments.push_back(sum);
    }
    func::CallOp::create(code.builder, code.loc, function, arguments);
  }

  ProductCode &code;
  const ProductTiles &tiles;
  ProductParts parts;
  Value lhs, lhsRow, lhsColumn, rhs, rhsRow, rhsColumn, result, resultRow;
  Value rows, columns, depth, below;
  Value sum;                           ///< the upd_product_sum; null without addends
  SmallVector<Added, 2> terms;         ///< the addend and the target, if products have them
  Value scratch, packedLhs, packedRhs; ///< in the workspace
};

} // namespace

void buildProductFunction(ProductCode &code, StringRef name, ProductParts parts) {
  auto function = code.startFunction(name, code.pointer, {"product"}, /*isPrivate=*/false);
  ProductLoops(code, parts).build(function.getArgument(0));
}

} // namespace updraft
