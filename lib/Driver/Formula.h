//===- Formula.h - Values as formulas -----------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_FORMULA_H
#define UPDRAFT_LIB_DRIVER_FORMULA_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SetVector.h"

#include <string>

namespace updraft {

/// Returns a formula for a value in the language's notation: operations of `arith` and `math`,
/// without type conversions, and block arguments by their source names. Named intermediate values
/// (`let`) are shown by name and appended to `named`. A factor is in parentheses if it is a sum or
/// a choice.
std::string formulaOf(mlir::Value value, llvm::SetVector<mlir::Value> &named,
                      bool isFactor = false);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_FORMULA_H
