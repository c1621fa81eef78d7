//===- MatrixLayout.h - Places of the matrices that a plan makes --------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_MATRIXLAYOUT_H
#define UPDRAFT_RUNTIME_BASE_MATRIXLAYOUT_H

#include "runtime/base/PlanInterface.h"
#include "runtime/base/TensorShape.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace updraft::runtime {

/// The matrices that a plan makes between its stages, and from which stage to which each is needed.
/// Depends on the plan alone, which must outlive it.
class MatrixLayout {
public:
  explicit MatrixLayout(const PlanInterface &plan);

  /// The streams of the matrices.
  const std::vector<uint32_t> &streams() const { return matrices; }
  /// Whether a matrix is made in one section and read in another one. sectionEnd(stage) is the end
  /// of the section that begins with `stage`.
  bool outlivesSections(const std::function<size_t(size_t)> &sectionEnd) const;

  /// Where the matrices of one tensor are in a block of memory.
  struct Places {
    size_t bytes = 0;            ///< of the block
    std::vector<size_t> offsets; ///< in bytes, in the order of `streams`
  };
  /// Places matrices such that those that are needed at the same time don't overlap.
  Places place(const TensorShape &shape) const;

private:
  /// The stages from the one that makes a value to the last one that reads it.
  struct Lifetime {
    size_t made, read;
  };

  enum class Relation : uint8_t {
    Free,     ///< never needed at one time
    Replaced, ///< needed at one time only by sweeps, which read an element of one before they make
              ///< that of the other
    Apart     ///< needed at one time
  };

  Relation relate(size_t first, size_t second, const std::vector<size_t> &times) const;
  bool isNeededAcross(size_t stage) const;
  /// The lifetimes of a stream's values; null if it isn't a matrix.
  std::vector<Lifetime> *lifetimesOf(uint32_t stream);
  void addMade(uint32_t stream, size_t stage);
  void addRead(uint32_t stream, size_t stage);
  size_t bytesOf(size_t matrix, const TensorShape &shape) const;

  const PlanInterface &plan;
  std::vector<uint32_t> matrices;
  std::vector<std::vector<Lifetime>> lifetimes; // of the values in each matrix, in order
  std::vector<std::vector<Relation>> relations; // by two matrices
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_MATRIXLAYOUT_H
