//===- Formula.h - Values as formulas -----------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_FORMULA_H
#define UPDRAFT_LIB_DRIVER_FORMULA_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SetVector.h"

#include <string>

namespace updraft {

/// How a value is computed, in the language's notation: the operations of `arith` and `math`,
/// without the conversions between types; block arguments by their source names. What has a name of
/// its own on the way, a `let`, is called by it and appended to `named`.
std::string formulaOf(mlir::Value value, llvm::SetVector<mlir::Value> &named);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_FORMULA_H
