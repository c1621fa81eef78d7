//===- ProductTile.h - A tile of a product of matrices, by one block ----------------*- C++ -*-===//
// The threads of a block share a square tile of the result. Each keeps some of its elements in
// registers over the whole depth, because each element is one chain of fused multiply-adds
// (updraft-c/kernel.h). Strips of both operands pass through the memory that the block shares.

#ifndef UPDRAFT_RUNTIME_KERNELS_PRODUCTTILE_H
#define UPDRAFT_RUNTIME_KERNELS_PRODUCTTILE_H

#include "runtime/kernels/EngineKernels.h"
#include "runtime/kernels/KernelThread.h"

namespace updraft::gpu {

/// The lines of an operand in one batch.
template <typename Element> struct OperandLines {
  const Element *data;
  int64_t lineStride; ///< in elements
  int64_t depthStride;
  int64_t count;
};

template <typename ElementType> class ProductTile {
public:
  using Element = ElementType;
  static constexpr bool isPacked = false;            ///< whether the operands are
  static constexpr int lanes = 16 / sizeof(Element); ///< elements of the widest access
  static constexpr int parts = 2;                    ///< vectors of a thread along each side
  static constexpr int threads = 16;                 ///< along each side
  static constexpr int side = threads * lanes * parts;
  static constexpr int depth = 16; ///< of a strip
  static_assert(threads * threads == UPD_GPU_THREADS);
  static_assert(side == productTileSide(sizeof(Element)));

  using Vector = Element __attribute__((ext_vector_type(lanes)));
  /// A strip of an operand. Rows are longer than a tile, so that threads which write a column use
  /// different banks.
  struct Strip {
    alignas(16) Element elements[depth][side + lanes];
  };
  /// Two strips of each operand: threads fill one while they read the other.
  struct Strips {
    Strip lhs[2], rhs[2];
  };

  /// All threads of the block must call it.
  explicit ProductTile(UPD_GPU_SHARED_TYPE Strips &strips)
      : strips(strips), column(static_cast<int>(threadOfBlock()) % threads),
        row(static_cast<int>(threadOfBlock()) / threads) {}

  /// Computes the tile that starts at an element. Inlined, so that sums stay in registers.
  [[gnu::always_inline]] void compute(const OperandLines<Element> &lhs,
                                      const OperandLines<Element> &rhs, int64_t ofDepth,
                                      int64_t firstRow, int64_t firstColumn) {
#pragma unroll
    for (int i = 0; i < parts * lanes; ++i)
#pragma unroll
      for (int part = 0; part < parts; ++part)
        sums[i][part] = Element(0);
    Source ofLhs(lhs, firstRow), ofRhs(rhs, firstColumn);
    const int64_t rowsLeft = lhs.count - firstRow, columnsLeft = rhs.count - firstColumn;
    const bool isWhole = rowsLeft >= side && columnsLeft >= side;
    Element ofThreadLhs[loads], ofThreadRhs[loads];
    // In the last strip, each product beyond the depth is -0, which changes no sum.
    if (ofDepth > 0) {
      ofLhs.load(ofThreadLhs, isWhole, ofDepth, Element(-0.0));
      ofRhs.load(ofThreadRhs, isWhole, ofDepth, Element(0));
      ofLhs.store(ofThreadLhs, strips.lhs[0]);
      ofRhs.store(ofThreadRhs, strips.rhs[0]);
      barrier();
    }
    int current = 0;
    for (int64_t left = ofDepth; left > 0; left -= depth) {
      const bool hasNext = left > depth;
      if (hasNext) {
        ofLhs.load(ofThreadLhs, isWhole, left - depth, Element(-0.0));
        ofRhs.load(ofThreadRhs, isWhole, left - depth, Element(0));
      }
      if (isWhole)
        accumulate(current);
      else
        accumulateInside(current, rowsLeft, columnsLeft);
      current ^= 1;
      if (hasNext) {
        ofLhs.store(ofThreadLhs, strips.lhs[current]);
        ofRhs.store(ofThreadRhs, strips.rhs[current]);
      }
      barrier();
    }
  }

  /// Calls body(row, column, value) for each element of this thread in the tile; some may be
  /// outside of the result.
  template <typename Body>
  [[gnu::always_inline]] void forEach(int64_t firstRow, int64_t firstColumn, Body body) const {
#pragma unroll
    for (int i = 0; i < parts * lanes; ++i)
#pragma unroll
      for (int part = 0; part < parts; ++part)
#pragma unroll
        for (int lane = 0; lane < lanes; ++lane)
          body(firstRow + place(row, i / lanes) + i % lanes,
               firstColumn + place(column, part) + lane, sums[i][part][lane]);
  }

private:
  static constexpr int loads = side * depth / UPD_GPU_THREADS; ///< elements of a thread in a strip

  /// Where the vector number `part` of a thread starts along a side of the tile.
  static constexpr int place(int thread, int part) { return (part * threads + thread) * lanes; }

  /// The elements of one thread in the strips of an operand. Adjacent threads load elements that
  /// are adjacent in memory.
  class Source {
  public:
    Source(const OperandLines<Element> &operand, int64_t firstLine)
        : alongDepth(operand.depthStride == 1), some(operand.data) {
      const auto thread = static_cast<int>(threadOfBlock());
      line = alongDepth ? thread / depth : thread % side;
      inDepth = alongDepth ? thread % depth : thread / side;
      const int64_t left = operand.count - firstLine;
      linesLeft = static_cast<int>(left < side ? left : side) - line;
      next = operand.data + (firstLine + line) * operand.lineStride + inDepth * operand.depthStride;
      step = alongDepth ? lineStep * operand.lineStride : depthStep * operand.depthStride;
      strip = depth * operand.depthStride;
    }

    /// Loads the elements of the next strip. Elements outside of the operand become `padding`.
    /// They are loaded from `some`, an element that exists, which avoids a branch for each.
    [[gnu::always_inline]] void load(Element (&to)[loads], bool isWhole, int64_t depthLeft,
                                     Element padding) {
      if (isWhole && depthLeft >= depth) {
        const Element *from = next;
#pragma unroll
        for (int i = 0; i < loads; ++i, from += step)
          to[i] = *from;
      } else {
        const int depths = static_cast<int>(depthLeft < depth ? depthLeft : depth) - inDepth;
        const int inside = !alongDepth  ? (linesLeft > 0 ? (depths + depthStep - 1) / depthStep : 0)
                           : depths > 0 ? (linesLeft + lineStep - 1) / lineStep
                                        : 0;
        const Element *from = next;
#pragma unroll
        for (int i = 0; i < loads; ++i, from += step) {
          const Element value = *(i < inside ? from : some);
          to[i] = i < inside ? value : padding;
        }
      }
      next += strip;
    }

    // The addresses have one register each way.
    [[gnu::always_inline]] void store(const Element (&from)[loads],
                                      UPD_GPU_SHARED_TYPE Strip &to) const {
      if (alongDepth) {
#pragma unroll
        for (int i = 0; i < loads; ++i)
          to.elements[inDepth][line + i * lineStep] = from[i];
      } else {
#pragma unroll
        for (int i = 0; i < loads; ++i)
          to.elements[inDepth + i * depthStep][line] = from[i];
      }
    }

  private:
    static constexpr int lineStep = UPD_GPU_THREADS / depth; ///< if threads are along the depth
    static constexpr int depthStep = UPD_GPU_THREADS / side; ///< else

    bool alongDepth;
    int line, inDepth; ///< of the first element in the strip
    int linesLeft;     ///< from there
    const Element *some, *next;
    int64_t step, strip; ///< in elements
  };

  using SharedVector = UPD_GPU_SHARED_TYPE Vector;

  /// Adds the products of a strip.
  [[gnu::always_inline]] void accumulate(int current) {
#pragma unroll
    for (int k = 0; k < depth; ++k)
#pragma unroll
      for (int rowPart = 0; rowPart < parts; ++rowPart)
#pragma unroll
        for (int columnPart = 0; columnPart < parts; ++columnPart)
          accumulate(current, k, rowPart, columnPart);
  }

  /// The same for a tile that is partly outside of the result, without the vectors that are.
  [[gnu::always_inline]] void accumulateInside(int current, int64_t rowsLeft, int64_t columnsLeft) {
#pragma unroll
    for (int rowPart = 0; rowPart < parts; ++rowPart)
#pragma unroll
      for (int columnPart = 0; columnPart < parts; ++columnPart)
        if (place(row, rowPart) < rowsLeft && place(column, columnPart) < columnsLeft)
          for (int k = 0; k < depth; ++k)
            accumulate(current, k, rowPart, columnPart);
  }

  [[gnu::always_inline]] void accumulate(int current, int k, int rowPart, int columnPart) {
    const Vector ofLhs = *reinterpret_cast<const SharedVector *>(
        &strips.lhs[current].elements[k][place(row, rowPart)]);
    const Vector ofRhs = *reinterpret_cast<const SharedVector *>(
        &strips.rhs[current].elements[k][place(column, columnPart)]);
#pragma unroll
    for (int lane = 0; lane < lanes; ++lane) {
      Vector &sum = sums[rowPart * lanes + lane][columnPart];
      sum = __builtin_elementwise_fma(Vector(ofLhs[lane]), ofRhs, sum);
    }
  }

  UPD_GPU_SHARED_TYPE Strips &strips;
  int column, row;                   ///< of the thread
  Vector sums[parts * lanes][parts]; ///< for each of its rows
};

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_KERNELS_PRODUCTTILE_H
