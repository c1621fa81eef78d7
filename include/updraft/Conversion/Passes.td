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

def OutlineMathPass : Pass<"updraft-outline-math", "::mlir::ModuleOp"> {
  let summary = "Call elementary functions of scalars";
  let description = [{
    `math.exp`, `math.log`, `math.tanh` and `math.powf` on scalars of f32 and f64, which are in host
    functions only after the passes of plans are expanded, become calls of functions of the module.
    These have the expansions that `updraft-expand-math` gives passes, once for each module.

    Before:

    ```mlir
    func.func @host(%x: f64) -> f64 {
      %0 = math.exp %x : f64
      %1 = math.exp %0 : f64
      return %1 : f64
    }
    ```

    After:

    ```mlir
    func.func private @updraft.exp.f64(f64) -> f64 // with a body
    func.func @host(%x: f64) -> f64 {
      %0 = call @updraft.exp.f64(%x) : (f64) -> f64
      %1 = call @updraft.exp.f64(%0) : (f64) -> f64
      return %1 : f64
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect"];
  let statistics = [
    Statistic<"outlinedOperations", "outlined-operations", "Operations that became calls">
  ];
}

def PipelineLoopsPass : Pass<"updraft-pipeline-loops", "::mlir::ModuleOp"> {
  let summary = "Compute the second half of an iteration beside the first half of the next";
  let description = [{
    For loops over vectors that are bound by latency: one whose iteration has a long chain of
    operations, and so many beside it that a CPU cannot begin the next one early enough. The cut is
    in the middle of the chain; every load is in the first half. What each element becomes is the
    same, and so is the order of its loads and stores. Addresses of different bases are taken for
    streams, which are the same or do not overlap.

    Before:

    ```mlir
    scf.for %i = %begin to %end step %c8 : i64 {
      %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %1 = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %2 = math.sqrt %1 : vector<8xf32>
      %3 = arith.divf %2, %d : vector<8xf32>
      llvm.store %3, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    }
    ```

    After, if it were as long as such loops are:

    ```mlir
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      %0 = llvm.getelementptr inbounds %p[%begin] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %1 = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %2 = math.sqrt %1 : vector<8xf32>
      %3 = arith.addi %begin, %c8 : i64
      // If there is another iteration:
      %4:2 = scf.while (%i = %3, %root = %2) : (i64, vector<8xf32>) -> (i64, vector<8xf32>) {
        %8 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %9 = llvm.load %8 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %10 = math.sqrt %9 : vector<8xf32>
        %11 = arith.subi %i, %c8 : i64
        %12 = llvm.getelementptr inbounds %p[%11] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %13 = arith.divf %root, %d : vector<8xf32>
        llvm.store %13, %12 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
        %14 = arith.addi %i, %c8 : i64
        %15 = arith.cmpi slt, %14, %end : i64
        scf.condition(%15) %14, %10 : i64, vector<8xf32>
      } do {
      ^bb0(%i: i64, %root: vector<8xf32>):
        scf.yield %i, %root : i64, vector<8xf32>
      }
      %5 = arith.subi %end, %c8 : i64
      %6 = llvm.getelementptr inbounds %p[%5] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %7 = arith.divf %4#1, %d : vector<8xf32>
      llvm.store %7, %6 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    }
    ```

    What the loop itself carries may be combined with something of each iteration, as for a maximum,
    in the first half.

    Where the number of elements is a constant, the halves become two loops, one after the other,
    neither of which is long. What crosses is kept in memory of the function: where the loop stores
    it there anyway, or in a buffer. Streams are written in the second loop alone, which loads from
    them again, and does all that the first one has no need of.

    ```mlir
    %whole = arith.andi %c256, %multiple_of_8 : i64
    %end = arith.addi %begin, %whole : i64
    scf.for %i = %begin to %end step %c8 : i64 {
      // The root, kept.
    }
    scf.for %i = %begin to %end step %c8 : i64 {
      // The quotient, stored.
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect"];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", /*default=*/"512",
           "width of a vector register in bits">,
    Option<"window", "window", "unsigned", /*default=*/"140",
           "how many results of vector operations the CPU keeps in flight">,
    Option<"maxCarried", "max-carried", "unsigned", /*default=*/"6",
           "how many vectors may cross from one half to the other">
  ];
  let statistics = [
    Statistic<"pipelinedLoops", "pipelined-loops", "Loops that were cut in two">
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
