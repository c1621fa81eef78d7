//===- Epilogues.h - Sweeps that a product can compute ------------------------------*- C++ -*-===//
// A sweep may add a matrix to a product that nothing else reads. The product can add it to each
// tile before it stores the tile, so that the product itself is never in memory.

#ifndef UPDRAFT_TRANSFORMS_EPILOGUES_H
#define UPDRAFT_TRANSFORMS_EPILOGUES_H

#include "Updraft/IR/UpdraftOps.h"

#include <optional>
#include <string>

namespace updraft {

/// The value of a sweep: scale * product + addend_scale * addend. A scale is a result of a
/// prologue, a constant, or null.
struct Epilogue {
  MultiplyOp product;
  mlir::OpFoldResult scale;
  mlir::Value addend;
  mlir::OpFoldResult addendScale;
  mlir::Value sum; ///< in the sweep
};

/// Returns the sum that a sweep computes, if the product can compute it with the same bits. If
/// not, and the sweep alone reads a product, `reason` becomes a sentence about the sweep, "it ...".
std::optional<Epilogue> epilogueOf(SweepOp sweep, std::string &reason);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_EPILOGUES_H
