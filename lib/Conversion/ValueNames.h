//===- ValueNames.h - Names of lowered values in printed IR -------------------------*- C++ -*-===//
// A name location names every value created at it. Lowered code keeps the names of values that
// represent a value of the plan, names its own arguments, and leaves other values unnamed.

#ifndef UPDRAFT_LIB_CONVERSION_VALUENAMES_H
#define UPDRAFT_LIB_CONVERSION_VALUENAMES_H

#include "Updraft/IR/Locations.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace updraft {

/// Returns the location with another name.
inline mlir::Location named(mlir::Location loc, mlir::StringRef name) {
  return mlir::NameLoc::get(mlir::StringAttr::get(loc.getContext(), name), unnamed(loc));
}

/// Names the first arguments of a function that has a body.
inline void nameArguments(mlir::func::FuncOp function, mlir::ArrayRef<mlir::StringRef> names) {
  for (auto [argument, name] : llvm::zip(function.getArguments(), names))
    argument.setLoc(named(function.getLoc(), name));
}

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_VALUENAMES_H
