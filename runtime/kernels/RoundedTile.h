//===- RoundedTile.h - A tile of a product of rounded operands, by one block --------*- C++ -*-===//
// Operands are packed first: rounded to bf16 or f16, padded with zeros, and in the order in which
// the matrix unit takes them. Tiles therefore have no edges, and threads copy strips of operands as
// they are to the memory that the block shares, two strips ahead.

#ifndef UPDRAFT_RUNTIME_KERNELS_ROUNDEDTILE_H
#define UPDRAFT_RUNTIME_KERNELS_ROUNDEDTILE_H

#include "runtime/kernels/EngineKernels.h"
#include "runtime/kernels/MatrixUnit.h"

namespace updraft::gpu {

/// 16 lines of 16 elements each: for each lane of a warp, the pairs of an LhsFragment. They are
/// also two RhsFragments of 8 lines.
struct alignas(16) PackedBlock {
  LhsFragment lanes[32];
};

/// A strip of the lines of a tile. The blocks of the same depth are adjacent.
struct PackedStrip {
  static constexpr int lines = roundedTileSide, depth = roundedStripDepth;
  PackedBlock blocks[depth / 16][lines / 16];
};
static_assert(sizeof(PackedStrip) == roundedStripBytes);

/// Strips in the memory that a block shares.
struct PackedStages {
  static constexpr int count = 3;
  PackedStrip lhs[count], rhs[count];
};

/// Packs the blocks of a batch that have the same strip and the same depth; called by all threads
/// of a warp.
template <upd_dtype format>
[[gnu::always_inline]] inline void packBlocks(const Packing &packing, const float *from,
                                              int64_t batch, int64_t unit, int lane) {
  using Two = float __attribute__((ext_vector_type(2)));
  const int64_t unitsOfStrip = PackedStrip::depth / 16;
  const int64_t strip = unit / unitsOfStrip, inStrip = unit % unitsOfStrip;
  const int64_t strips = roundedStrips(packing.depth);
  const int64_t line = strip / strips * PackedStrip::lines + lane / 4;
  const int64_t depth = strip % strips * PackedStrip::depth + inStrip * 16 + lane % 4 * 2;
  const ProductOperand &operand = packing.operand;
  from += batch * operand.batchStride;
  // Pairs that are adjacent in memory are loaded together if they are aligned.
  const bool isPaired = operand.depthStride == 1 && operand.lineStride % 2 == 0 &&
                        reinterpret_cast<uintptr_t>(from) % sizeof(Two) == 0;
  auto pairAt = [&](int64_t line, int64_t depth) {
    const float *first = from + line * operand.lineStride + depth * operand.depthStride;
    const int64_t left = line < packing.lines ? packing.depth - depth : 0;
    if (isPaired && left >= 2) {
      const Two two = *reinterpret_cast<const Two *>(first);
      return roundedPair<format>(two.x, two.y);
    }
    return roundedPair<format>(left >= 1 ? *first : 0, left >= 2 ? first[operand.depthStride] : 0);
  };
  auto &packed = (static_cast<PackedStrip *>(packing.to) +
                  batch * (packing.bytesOfBatch() / roundedStripBytes))[strip];
#pragma unroll
  for (int block = 0; block < PackedStrip::lines / 16; ++block) {
    LhsFragment fragment;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      fragment.pairs[i] = pairAt(line + block * 16 + i % 2 * 8, depth + i / 2 * 8);
    packed.blocks[inStrip][block].lanes[lane] = fragment;
  }
}

/// `format` is that of the packed operands.
template <upd_dtype format> class RoundedTile {
public:
  using Element = float;
  static constexpr bool isPacked = true;
  static constexpr int side = PackedStrip::lines;
  static_assert(side == productTileSide(sizeof(Element)));
  using Stages = PackedStages;
  static constexpr int stages = Stages::count;

  /// All threads of the block must call it.
  explicit RoundedTile(UPD_GPU_SHARED_TYPE Stages &shared)
      : shared(shared), thread(static_cast<int>(threadOfBlock())) {
    row = thread / 32 / warpColumns * rowsOfWarp;
    column = thread / 32 % warpColumns * columnsOfWarp;
  }

  /// Computes a tile from the strips of its rows and columns. Inlined, so that sums stay in
  /// registers.
  [[gnu::always_inline]] void compute(const PackedStrip *lhs, const PackedStrip *rhs,
                                      int64_t strips) {
#pragma unroll
    for (auto &ofRow : sums)
#pragma unroll
      for (SumFragment &sum : ofRow)
        sum = {{0, 0, 0, 0}};
    for (int64_t strip = 0; strip < stages - 1; ++strip)
      copy(lhs, rhs, strip, strips);
    for (int64_t strip = 0; strip < strips; ++strip) {
      waitForCopies<stages - 2>();
      barrier();
      copy(lhs, rhs, strip + stages - 1, strips);
      accumulate(static_cast<int>(strip % stages));
    }
    // The next tile overwrites the strips.
    waitForCopies<0>();
    barrier();
  }

  /// Calls body(row, column, value) for each element of this thread in the tile.
  template <typename Body>
  [[gnu::always_inline]] void forEach(int64_t firstRow, int64_t firstColumn, Body body) const {
    const int lane = thread % 32;
#pragma unroll
    for (int i = 0; i < rowFragments; ++i)
#pragma unroll
      for (int j = 0; j < columnFragments; ++j)
#pragma unroll
        for (int k = 0; k < 4; ++k)
          body(firstRow + row + i * 16 + lane / 4 + k / 2 * 8,
               firstColumn + column + j * 8 + lane % 4 * 2 + k % 2, sums[i][j].elements[k]);
  }

private:
  static constexpr int warpColumns = 4;
  static constexpr int columnsOfWarp = PackedStrip::lines / warpColumns;
  static constexpr int rowsOfWarp = PackedStrip::lines / (UPD_GPU_THREADS / 32 / warpColumns);
  static constexpr int rowFragments = rowsOfWarp / 16, columnFragments = columnsOfWarp / 8;

  /// Starts to copy a strip of both operands. Beyond the last strip it copies nothing, but counts.
  [[gnu::always_inline]] void copy(const PackedStrip *lhs, const PackedStrip *rhs, int64_t strip,
                                   int64_t strips) {
    if (strip < strips) {
      const auto stage = static_cast<int>(strip % stages);
#pragma unroll
      for (int part = 0; part < parts; ++part) {
        const int fragment = thread + part * UPD_GPU_THREADS;
        copyFragment(fragmentOf(shared.lhs[stage], fragment), fragmentOf(lhs[strip], fragment));
        copyFragment(fragmentOf(shared.rhs[stage], fragment), fragmentOf(rhs[strip], fragment));
      }
    }
    endCopies();
  }

  static constexpr int parts = sizeof(PackedStrip) / sizeof(LhsFragment) / UPD_GPU_THREADS;

  static const LhsFragment *fragmentOf(const PackedStrip &strip, int index) {
    return &strip.blocks[0][0].lanes[0] + index;
  }
  static UPD_GPU_SHARED_TYPE LhsFragment *fragmentOf(UPD_GPU_SHARED_TYPE PackedStrip &strip,
                                                     int index) {
    return &strip.blocks[0][0].lanes[0] + index;
  }

  /// Adds the products of a strip.
  [[gnu::always_inline]] void accumulate(int stage) {
    const int lane = thread % 32;
#pragma unroll
    for (int k = 0; k < PackedStrip::depth / 16; ++k) {
      LhsFragment rhs[columnFragments / 2];
#pragma unroll
      for (int j = 0; j < columnFragments / 2; ++j)
        rhs[j] = loadFragment(shared.rhs[stage].blocks[k][column / 16 + j].lanes[lane]);
#pragma unroll
      for (int i = 0; i < rowFragments; ++i) {
        const LhsFragment lhs = loadFragment(shared.lhs[stage].blocks[k][row / 16 + i].lanes[lane]);
#pragma unroll
        for (int j = 0; j < columnFragments; ++j) {
          const Pair *pairs = rhs[j / 2].pairs;
          multiplyAdd<format>(sums[i][j], lhs, {{pairs[j % 2], pairs[j % 2 + 2]}});
        }
      }
    }
  }

  UPD_GPU_SHARED_TYPE Stages &shared;
  int thread;
  int row, column; ///< of the warp's part of the tile
  SumFragment sums[rowFragments][columnFragments];
};

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_KERNELS_ROUNDEDTILE_H
