//===- StreamAddress.h - Addresses of streams in a loop -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_CONVERSION_STREAMADDRESS_H
#define UPDRAFT_LIB_CONVERSION_STREAMADDRESS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace updraft {

/// The address of an element of the iteration: `stream[number]` or `stream[origin + number]`, where
/// `number` is the loop's induction variable.
struct StreamAddress {
  mlir::Value stream;
  mlir::Value origin; ///< null in the first form
  mlir::Type element;

  /// Returns nothing if `address` has neither form.
  static std::optional<StreamAddress> match(mlir::Value address, mlir::scf::ForOp loop);
};

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_STREAMADDRESS_H
