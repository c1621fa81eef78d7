//===- UpdraftOps.h - Operations of the updraft dialect -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_IR_UPDRAFTOPS_H
#define UPDRAFT_IR_UPDRAFTOPS_H

#include "Updraft/IR/UpdraftDialect.h"
#include "Updraft/IR/UpdraftInterfaces.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "Updraft/IR/UpdraftOps.h.inc"

namespace updraft {

/// Returns the rules or plans of a module, also those in `updraft.variants`. `FormOp` is RuleOp or
/// PlanOp.
template <typename FormOp> llvm::SmallVector<FormOp> formsIn(mlir::ModuleOp module) {
  llvm::SmallVector<FormOp> forms;
  for (mlir::Operation &op : *module.getBody())
    if (auto form = mlir::dyn_cast<FormOp>(op))
      forms.push_back(form);
    else if (auto variants = mlir::dyn_cast<VariantsOp>(op))
      for (mlir::Region &region : variants->getRegions())
        llvm::append_range(forms, region.getOps<FormOp>());
  return forms;
}

/// The end of the name of a form for probed steps: that of R is R_probed, and that of R_matrix is
/// R_probed_matrix.
constexpr llvm::StringLiteral probedSuffix = "_probed";

} // namespace updraft

#endif // UPDRAFT_IR_UPDRAFTOPS_H
