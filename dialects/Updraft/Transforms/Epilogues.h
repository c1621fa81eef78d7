//===- Epilogues.h - Sums that a product can compute --------------------------------*- C++ -*-===//
// A sweep may add a matrix to a product that nothing else reads. The product can add it to each
// tile before it stores the tile, so that the product itself is never in memory.

#ifndef UPDRAFT_TRANSFORMS_EPILOGUES_H
#define UPDRAFT_TRANSFORMS_EPILOGUES_H

#include "Updraft/IR/UpdraftOps.h"

#include <optional>
#include <string>

namespace updraft {

/// A value in a sweep: scale * product + addend_scale * addend. A scale is a result of a prologue,
/// a constant, or null. The sweep uses the elements of both matrices for nothing else.
struct Epilogue {
  MultiplyOp product;
  mlir::OpFoldResult scale;
  mlir::Value addend;
  mlir::OpFoldResult addendScale;
  mlir::Value sum; ///< in the sweep
  /// Whether the sweep does nothing but store the sum to the addend, which may then be the target
  /// of a product that already has an addend.
  bool updates = false;
};

/// Returns a sum in the sweep that the product can compute with the same bits. If there is a sum
/// that it can't compute, `reason` becomes a sentence that says why; otherwise it is empty.
std::optional<Epilogue> epilogueOf(SweepOp sweep, std::string &reason);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_EPILOGUES_H
