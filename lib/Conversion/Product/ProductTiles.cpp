//===- ProductTiles.cpp - The sizes of a product's tiles and blocks ---------------------------===//
// A tile takes most registers for its sums, because the more elements it has, the fewer loads there
// are for each fused multiply-add.

#include "updraft-c/kernel.h"
#include "updraft/Conversion/Product.h"

#include <algorithm>
#include <cassert>

namespace updraft {

unsigned vectorBitsOf(DotInstruction instruction) {
  switch (instruction) {
  case DotInstruction::None:
    return 0;
  case DotInstruction::VDPBF16PS:
    return 512;
  case DotInstruction::BFDOT:
    return 128;
  }
}

ProductTiles ProductTiles::choose(mlir::Type compute, const ProductTarget &target) {
  const unsigned bits = compute.getIntOrFloatBitWidth();
  const bool hasManyRegisters = target.vectorRegisters >= 32;
  ProductTiles tiles{};
  assert(target.vectorBits >= 128);
  tiles.lanes = target.vectorBits / bits;
  tiles.unroll = hasManyRegisters ? 1 : 4;
  tiles.group = std::min(target.interleaveBits, target.vectorBits) / bits;
  tiles.maskRemainder = target.maskRemainder;
  unsigned vectors = 2; // in a row of the tile
  if (target.vectorBits >= 256) {
    tiles.rows = hasManyRegisters ? 12 : 6;
  } else if (hasManyRegisters) {
    tiles.rows = 8;
    vectors = 3;
    tiles.loadsLanes = true;
  } else {
    tiles.rows = 4;
    // These CPUs may call a function for each lane of a fused multiply-add. Unrolled calls would
    // gain nothing and take long to compile.
    tiles.unroll = 1;
  }
  // With few registers, a lower tile would have too few sums to keep the CPU's units busy.
  tiles.edgeRows = hasManyRegisters ? 4 : tiles.rows;
  tiles.columns = vectors * tiles.lanes;

  // A panel of rhs is read from the first-level cache, a block of lhs from the second and a block
  // of rhs from the third. These sizes are for 48 KiB and 1 MiB.
  constexpr int64_t lhsBytes = 252 * 1024, rhsBytes = 1152 * 1024;
  auto multiple = [](int64_t size, int64_t unit) { return size / unit * unit; };
  tiles.depthBlock = 384;
  const int64_t bytes = tiles.depthBlock * bits / 8;
  tiles.rowBlock = multiple(lhsBytes / bytes, tiles.rows);
  tiles.colBlock = multiple(rhsBytes / bytes, tiles.columns);
  assert(tiles.workspaceElements() * bits / 8 <= UPD_PRODUCT_WORKSPACE);
  return tiles;
}

} // namespace updraft
