//===- PlanToLoops.cpp - From a plan to functions with vector loops -------------------------===//

#include "Updraft/IR/UpdraftOps.h"
#include "updraft/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace updraft {
#define GEN_PASS_DEF_CONVERTPLANTOLOOPSPASS
#include "updraft/Conversion/Passes.h.inc"

namespace {
struct ConvertPlanToLoopsPass : impl::ConvertPlanToLoopsPassBase<ConvertPlanToLoopsPass> {
  using ConvertPlanToLoopsPassBase::ConvertPlanToLoopsPassBase;
  void runOnOperation() override {}
};
} // namespace
} // namespace updraft
