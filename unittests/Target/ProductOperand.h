//===- ProductOperand.h - Matrices of a product in every layout ---------------------*- C++ -*-===//
// The elements of a matrix, and copies of them in memory at given distances.

#ifndef UPDRAFT_UNITTESTS_TARGET_PRODUCTOPERAND_H
#define UPDRAFT_UNITTESTS_TARGET_PRODUCTOPERAND_H

#include "FencedMemory.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace updraft::test {

enum class Layout { Rows, Columns, PaddedRows, PaddedColumns, Scattered, Backwards };
inline constexpr Layout allLayouts[] = {Layout::Rows,       Layout::Columns,
                                        Layout::PaddedRows, Layout::PaddedColumns,
                                        Layout::Scattered,  Layout::Backwards};

struct Sizes {
  int64_t rows, columns, depth;
};

/// A dense matrix.
template <typename Real> struct Matrix {
  int64_t rows, columns;
  std::vector<Real> values = std::vector<Real>(static_cast<size_t>(rows * columns));
  Real &at(int64_t row, int64_t column) {
    return values[static_cast<size_t>(row * columns + column)];
  }
};

/// The elements of a matrix in memory.
template <typename Real> class Operand {
public:
  Operand(Matrix<Real> &matrix, Layout layout, Fence fence) {
    const int64_t rows = matrix.rows, columns = matrix.columns;
    switch (layout) {
    case Layout::Rows:
      row = columns, column = 1;
      break;
    case Layout::Columns:
      row = 1, column = rows;
      break;
    case Layout::PaddedRows:
      row = columns + 3, column = 1;
      break;
    case Layout::PaddedColumns:
      row = 1, column = rows + 5;
      break;
    case Layout::Scattered:
      row = 2, column = 2 * rows + 1;
      break;
    case Layout::Backwards:
      row = -columns, column = -1;
      break;
    }
    const bool isEmpty = rows == 0 || columns == 0;
    const int64_t last =
        isEmpty ? -1 : (rows - 1) * std::abs(row) + (columns - 1) * std::abs(column);
    memory = std::make_unique<FencedMemory<Real>>(static_cast<size_t>(last + 1), fence);
    first = row < 0 && !isEmpty ? memory->begin() + last : memory->begin();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        first[i * row + j * column] = matrix.at(i, j);
  }

  Real *first;
  int64_t row, column;

private:
  std::unique_ptr<FencedMemory<Real>> memory;
};

} // namespace updraft::test

#endif // UPDRAFT_UNITTESTS_TARGET_PRODUCTOPERAND_H
