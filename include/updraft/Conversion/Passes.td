//===- Passes.td - Passes from plan to target -------------------------------*- tablegen -*-===//

#ifndef UPDRAFT_CONVERSION_PASSES_TD
#define UPDRAFT_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertPlanToLoopsPass : Pass<"convert-updraft-plan-to-loops", "::mlir::ModuleOp"> {
  let summary = "Lower each plan to functions with vector loops for a CPU";
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", /*default=*/"512",
           "width of a vector register in bits">,
    Option<"maskRemainder", "mask-remainder", "bool", /*default=*/"true",
           "compute the last elements with masked accesses, not one at a time">
  ];
}

#endif // UPDRAFT_CONVERSION_PASSES_TD
