//===- Passes.td - Passes from plan to target ----------------------------------*- tablegen -*-===//

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
           "width of a vector register in bits: a power of two from 64 to 2048">,
    Option<"maskRemainder", "mask-remainder", "bool", /*default=*/"true",
           "compute the last elements with masked accesses, not one at a time">
  ];
}

def ConvertLoopsToLLVMPass : Pass<"convert-updraft-loops-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Lower functions with vector loops to the LLVM dialect, in one conversion";
  let description = [{
    `func`, `scf`, `cf`, `arith`, `math` and `vector` go to the LLVM dialect together. Arithmetic
    keeps its IEEE meaning: no fast-math flag is added and nothing is contracted. A `math` operation
    on scalars that LLVM has no intrinsic for becomes a call of the C library, which host functions
    may contain.
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif // UPDRAFT_CONVERSION_PASSES_TD
