//===- Formula.h - Values as formulas -----------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_FORMULA_H
#define UPDRAFT_LIB_DRIVER_FORMULA_H

#include "mlir/IR/Value.h"

#include <string>

namespace updraft {

/// How a value is computed from its region's arguments, in the language's notation: the operations
/// of `arith` and `math`, without the conversions between types; block arguments by their source
/// names.
std::string formulaOf(mlir::Value value);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_FORMULA_H
