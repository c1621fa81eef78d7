//===- RegisterTranspose.cpp - Transposes blocks of elements in registers ---------------------===//
// First within groups of lanes, for which interleaving two vectors is one instruction, then blocks
// of whole groups. Each step has one shuffle for each vector. The code is a function of the object,
// because it is long and has several callers.

#include "ProductCode.h"

using namespace mlir;

namespace updraft {

/// Returns the transpose of a square block, which has a vector for each row.
static SmallVector<Value> transpose(ProductCode &code, SmallVector<Value> rows) {
  const size_t lanes = rows.size();
  const size_t group = code.tiles.group;

  // Interleaves a group's first half with its second half, log2(group) times. Each time, the number
  // of a row and that of a lane exchange one bit.
  for (size_t times = 1; times < group; times *= 2) {
    SmallVector<Value> next(lanes);
    for (size_t first = 0; first < lanes; first += group)
      for (size_t i = 0; i < group / 2; ++i)
        for (size_t half = 0; half < 2; ++half) {
          SmallVector<int64_t> mask;
          for (size_t lane = 0; lane < lanes; ++lane) {
            const size_t from = lane / group * group + half * group / 2 + lane % group / 2;
            mask.push_back(static_cast<int64_t>(from + lane % 2 * lanes));
          }
          next[first + 2 * i + half] =
              code.shuffle(rows[first + i], rows[first + i + group / 2], mask);
        }
    rows = std::move(next);
  }

  // Exchanges the off-diagonal quarters of blocks of `2 * size` groups.
  for (size_t size = group; size < lanes; size *= 2)
    for (size_t i = 0; i < lanes; ++i) {
      if (i & size)
        continue;
      SmallVector<int64_t> low, high;
      for (size_t lane = 0; lane < lanes; ++lane) {
        const bool isUpper = lane & size;
        low.push_back(static_cast<int64_t>(isUpper ? lanes + lane - size : lane));
        high.push_back(static_cast<int64_t>(isUpper ? lanes + lane : lane + size));
      }
      Value first = rows[i], second = rows[i + size];
      rows[i] = code.shuffle(first, second, low);
      rows[i + size] = code.shuffle(first, second, high);
    }
  return rows;
}

func::FuncOp buildTransposeFunction(ProductCode &code, StringRef name) {
  auto function = code.startFunction(
      name + "_transpose", {code.pointer, code.i64, code.pointer, code.i64, code.i64, code.i64},
      {"from", "from_row", "to", "to_row", "rows", "blocks"});
  auto argument = [&](unsigned number) -> Value { return function.getArgument(number); };
  const unsigned lanes = code.tiles.lanes;
  Value fromRow = argument(1), toRow = argument(3), size = code.constant(lanes);
  // Rows after the last one are copies of it.
  Value last = code.subtract(argument(4), code.constant(1));
  SmallVector<Value> offsets;
  for (unsigned i = 0; i < lanes; ++i)
    offsets.push_back(code.multiply(code.smaller(code.constant(i), last), fromRow));
  code.loop(code.constant(0), argument(5), 1, {argument(0), argument(2)},
            {size, code.multiply(toRow, size)}, [&](Value, ValueRange addresses) {
              SmallVector<Value> block;
              for (Value offset : offsets)
                block.push_back(code.load(code.at(addresses[0], offset), lanes));
              Value target = addresses[1];
              for (Value column : transpose(code, block)) {
                code.store(column, target);
                target = code.at(target, toRow);
              }
            });
  func::ReturnOp::create(code.builder, code.loc);
  return function;
}

} // namespace updraft
