//===- CoarseTile.h - A tile of a coarse product, by one block ----------------------*- C++ -*-===//
// Like ProductTile, but operands are rounded to bf16 on their way to the memory that the block
// shares, and the warps multiply them by the matrix unit.

#ifndef UPDRAFT_RUNTIME_KERNELS_COARSETILE_H
#define UPDRAFT_RUNTIME_KERNELS_COARSETILE_H

#include "runtime/kernels/EngineKernels.h"
#include "runtime/kernels/MatrixUnit.h"
#include "runtime/kernels/ProductTile.h"

namespace updraft::gpu {

class CoarseTile {
public:
  using Element = float;
  static constexpr int side = 128;
  static constexpr int depth = 32; ///< of a strip
  static_assert(side == productTileSide(sizeof(Element)));

  /// A strip of an operand, with the pairs of a line side by side. Lines are longer than the strip,
  /// so that the threads of a warp use different banks.
  struct Strip {
    alignas(16) BF16Pair pairs[side][depth / 2 + 4];
  };
  /// Two strips of each operand: threads fill one while they read the other.
  struct Strips {
    Strip lhs[2], rhs[2];
  };

  /// All threads of the block must call it.
  explicit CoarseTile(UPD_GPU_SHARED_TYPE Strips &strips)
      : strips(strips), lane(static_cast<int>(threadOfBlock()) % 32) {
    const int warp = static_cast<int>(threadOfBlock()) / 32;
    row = warp / warpColumns * rowsOfWarp;
    column = warp % warpColumns * columnsOfWarp;
  }

  /// Computes the tile that starts at an element. Inlined, so that sums stay in registers.
  [[gnu::always_inline]] void compute(const OperandLines<float> &lhs,
                                      const OperandLines<float> &rhs, int64_t ofDepth,
                                      int64_t firstRow, int64_t firstColumn) {
#pragma unroll
    for (auto &ofRow : sums)
#pragma unroll
      for (SumFragment &sum : ofRow)
        sum = {{0, 0, 0, 0}};
    Source ofLhs(lhs, firstRow), ofRhs(rhs, firstColumn);
    BF16Pair nextLhs[pairsOfThread], nextRhs[pairsOfThread];
    if (ofDepth > 0) {
      ofLhs.load(nextLhs, ofDepth);
      ofRhs.load(nextRhs, ofDepth);
      ofLhs.store(nextLhs, strips.lhs[0]);
      ofRhs.store(nextRhs, strips.rhs[0]);
      barrier();
    }
    int current = 0;
    for (int64_t left = ofDepth; left > 0; left -= depth) {
      const bool hasNext = left > depth;
      if (hasNext) {
        ofLhs.load(nextLhs, left - depth);
        ofRhs.load(nextRhs, left - depth);
      }
      accumulate(current);
      current ^= 1;
      if (hasNext) {
        ofLhs.store(nextLhs, strips.lhs[current]);
        ofRhs.store(nextRhs, strips.rhs[current]);
      }
      barrier();
    }
  }

  /// As in ProductTile.
  template <typename Body>
  [[gnu::always_inline]] void forEach(int64_t firstRow, int64_t firstColumn, Body body) const {
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
  static constexpr int columnsOfWarp = side / warpColumns;
  static constexpr int rowsOfWarp = side / (UPD_GPU_THREADS / 32 / warpColumns);
  static constexpr int rowFragments = rowsOfWarp / 16, columnFragments = columnsOfWarp / 8;
  static constexpr int pairsOfThread = side * depth / 2 / UPD_GPU_THREADS;

  /// The pairs of one thread in the strips of an operand. The threads of a warp load elements that
  /// are adjacent in memory: 16 pairs of 2 lines if the depth is, else 8 lines of 4 pairs.
  class Source {
  public:
    Source(const OperandLines<float> &operand, int64_t firstLine)
        : alongDepth(operand.depthStride == 1), depthStride(operand.depthStride),
          some(operand.data) {
      const auto thread = static_cast<int>(threadOfBlock());
      const int lane = thread % 32, warp = thread / 32;
      pair = alongDepth ? lane % 16 : lane % 4 + warp % 4 * 4;
      line = alongDepth ? warp * 2 + lane / 16 : lane / 4 + warp / 4 * 8;
      const int64_t left = operand.count - firstLine;
      linesLeft = static_cast<int>(left < side ? left : side) - line;
      next = operand.data + (firstLine + line) * operand.lineStride + pair * 2 * depthStride;
      step = lineStep * operand.lineStride;
      strip = depth * depthStride;
      isPaired = alongDepth && operand.lineStride % 2 == 0 &&
                 reinterpret_cast<uintptr_t>(operand.data) % 8 == 0;
    }

    /// Loads the pairs of the next strip. Elements outside of the operand become 0. They are loaded
    /// from `some`, an element that exists, which avoids a branch for each.
    [[gnu::always_inline]] void load(BF16Pair (&to)[pairsOfThread], int64_t depthLeft) {
      using Two = float __attribute__((ext_vector_type(2)));
      const int64_t inDepth = depthLeft - pair * 2;
      const float *from = next;
      if (isPaired && inDepth >= 2) {
#pragma unroll
        for (int i = 0; i < pairsOfThread; ++i, from += step) {
          const bool isInside = i * lineStep < linesLeft;
          const Two two = *reinterpret_cast<const Two *>(isInside ? from : some);
          to[i] = isInside ? roundedPair(two.x, two.y) : 0;
        }
      } else {
#pragma unroll
        for (int i = 0; i < pairsOfThread; ++i, from += step) {
          const bool hasLower = i * lineStep < linesLeft && inDepth >= 1;
          const bool hasUpper = i * lineStep < linesLeft && inDepth >= 2;
          const float lower = *(hasLower ? from : some);
          const float upper = *(hasUpper ? from + depthStride : some);
          to[i] = roundedPair(hasLower ? lower : 0, hasUpper ? upper : 0);
        }
      }
      next += strip;
    }

    [[gnu::always_inline]] void store(const BF16Pair (&from)[pairsOfThread],
                                      UPD_GPU_SHARED_TYPE Strip &to) const {
#pragma unroll
      for (int i = 0; i < pairsOfThread; ++i)
        to.pairs[line + i * lineStep][pair] = from[i];
    }

  private:
    static constexpr int lineStep = 16;

    bool alongDepth, isPaired;
    int64_t depthStride;
    int line, pair; ///< of the first pair in the strip
    int linesLeft;  ///< from there
    const float *some, *next;
    int64_t step, strip; ///< in elements
  };

  /// Adds the products of a strip.
  [[gnu::always_inline]] void accumulate(int current) {
    const int inGroup = lane % 4, group = lane / 4;
#pragma unroll
    for (int k = 0; k < depth / 2; k += 8) {
      RhsFragment rhs[columnFragments];
#pragma unroll
      for (int j = 0; j < columnFragments; ++j) {
        const auto &line = strips.rhs[current].pairs[column + j * 8 + group];
        rhs[j] = {{line[k + inGroup], line[k + 4 + inGroup]}};
      }
#pragma unroll
      for (int i = 0; i < rowFragments; ++i) {
        const auto &upper = strips.lhs[current].pairs[row + i * 16 + group];
        const auto &lower = strips.lhs[current].pairs[row + i * 16 + group + 8];
        const LhsFragment lhs = {{upper[k + inGroup], lower[k + inGroup], upper[k + 4 + inGroup],
                                  lower[k + 4 + inGroup]}};
#pragma unroll
        for (int j = 0; j < columnFragments; ++j)
          multiplyAdd(sums[i][j], lhs, rhs[j]);
      }
    }
  }

  UPD_GPU_SHARED_TYPE Strips &strips;
  int lane;
  int row, column; ///< of the warp's part of the tile
  SumFragment sums[rowFragments][columnFragments];
};

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_KERNELS_COARSETILE_H
