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
           "compute the last elements with masked accesses, not one at a time">,
    Option<"vectorRegisters", "vector-registers", "unsigned", /*default=*/"32",
           "number of vector registers, for the tiles of products">,
    Option<"interleaveBits", "interleave-bits", "unsigned", /*default=*/"512",
           "bits of two vectors that one instruction interleaves, for the operands of products">,
    Option<"dot", "dot", "::updraft::DotInstruction",
           /*default=*/"::updraft::DotInstruction::None",
           "instruction for bf16 products, if its vectors have these bits", [{::llvm::cl::values(
             clEnumValN(::updraft::DotInstruction::None, "none", "none"),
             clEnumValN(::updraft::DotInstruction::VDPBF16PS, "vdpbf16ps", "AVX512-BF16: 512"),
             clEnumValN(::updraft::DotInstruction::BFDOT, "bfdot", "AArch64: 128"))}]>
  ];
}

def OutlineMathPass : Pass<"updraft-outline-math", "::mlir::ModuleOp"> {
  let summary = "Call elementary functions";
  let description = [{
    Replaces `math.exp`, `math.log`, `math.tanh` and `math.powf` of f32 and f64, on scalars and on
    vectors of one dimension, by calls of functions of the module or of the `gpu.module`. They occur
    in host functions, and in the sweeps of plans that have too many of them to be expanded. Each
    function holds the expansion that `updraft-expand-math` gives sweeps, once for each module.
    `math.fpowi` on scalars becomes a call of such a function too.

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
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"outlinedOperations", "outlined-operations", "Operations that became calls">
  ];
}

def PrefetchStreamsPass : Pass<"updraft-prefetch-streams", "::mlir::ModuleOp"> {
  let summary = "Prefetch vector loads some iterations ahead";
  let description = [{
    Adds one prefetch per iteration for each stream that the loop reads, `distance` elements ahead
    of the first read. The prefetch may run past the end of a stream, where the next tensor or row
    usually begins. In a stream that is shorter than the distance, only the last vector is
    prefetched.

    Before:

    ```mlir
    scf.for %i = %begin to %end step %c16 : i64 {
      %0 = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<16xf32>
    }
    ```

    After:

    ```mlir
    %length = arith.subi %end, %begin : i64
    %short = arith.cmpi slt, %length, %c512 : i64
    %0 = arith.subi %end, %c16 : i64
    %last = arith.select %short, %0, %largest : i64
    scf.for %i = %begin to %end step %c16 : i64 {
      %1 = arith.addi %i, %c512 : i64
      %2 = arith.minsi %1, %last : i64
      updraft.prefetch %p[%2] : !updraft.elements<f32>, i64
      %3 = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<16xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [
    Option<"distance", "distance", "unsigned", /*default=*/"512",
           "elements from a read to its prefetch">
  ];
  let statistics = [
    Statistic<"prefetchedStreams", "prefetched-streams", "Streams of loops that are prefetched">
  ];
}

def InvertDivisorsPass : Pass<"updraft-invert-divisors", "::mlir::ModuleOp"> {
  let summary = "Divide square roots by a scalar with its reciprocal, to the same bits";
  let description = [{
    An optimizer's bias correction divides a vector of f32 roots by a scalar. The division occupies
    a CPU's single divider for as long as the rest of the loop occupies the other units. The product
    with the divisor's reciprocal is the quotient or one of its neighbours, and the remainder tells
    which one is the nearest. This requires a divisor from 2^-24 to 2^24; the original loop handles
    all others.

    Before:

    ```mlir
    %divisor = vector.broadcast %s : f32 to vector<16xf32>
    scf.for %i = %begin to %end step %c16 : i64 {
      %root = math.sqrt %x : vector<16xf32>
      %0 = arith.divf %root, %divisor : vector<16xf32>
    }
    ```

    After:

    ```mlir
    %divisor = vector.broadcast %s : f32 to vector<16xf32>
    %large = arith.cmpf oge, %s, %least : f32
    %small = arith.cmpf ole, %s, %most : f32
    %ordinary = arith.andi %large, %small : i1
    %1 = arith.divf %one, %s : f32
    %2 = arith.negf %s : f32
    %inverse = vector.broadcast %1 : f32 to vector<16xf32>
    %negative = vector.broadcast %2 : f32 to vector<16xf32>
    scf.if %ordinary {
      scf.for %i = %begin to %end step %c16 : i64 {
        %root = math.sqrt %x : vector<16xf32>
        %3 = arith.mulf %root, %inverse : vector<16xf32>
        %4 = math.fma %negative, %3, %root : vector<16xf32>
        %5 = math.fma %4, %inverse, %3 : vector<16xf32>
        %6 = arith.cmpf one, %4, %zero : vector<16xf32>
        %7 = arith.select %6, %5, %3 : vector<16xi1>, vector<16xf32>
      }
    } else {
      // The loop that divides.
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"invertedDivisions", "inverted-divisions", "Divisions that became products">
  ];
}

def PipelineLoopsPass : Pass<"updraft-pipeline-loops", "::mlir::ModuleOp"> {
  let summary = "Compute the second half of an iteration beside the first half of the next";
  let description = [{
    Applies to loops over vectors that are bound by latency: an iteration has a long chain of
    operations, and so many other operations that a CPU cannot begin the next iteration early
    enough. The loop is cut in the middle of the chain, with every read in the first half. The values
    of elements don't change, by the rules of `!updraft.elements`. If an iteration adds to a sum in
    scratch memory, `E[j] = E[j] + x`, the half that computes `x` reads and writes it, or the second.

    Before:

    ```mlir
    scf.for %i = %begin to %end step %c8 : i64 {
      %0 = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
      %1 = math.sqrt %0 : vector<8xf32>
      %2 = arith.divf %1, %d : vector<8xf32>
      updraft.write %2, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
    }
    ```

    After, shown on a loop that is too short for the pass:

    ```mlir
    %some = arith.cmpi slt, %begin, %end : i64
    scf.if %some {
      %0 = updraft.read %p[%begin] : !updraft.elements<f32>, i64 -> vector<8xf32>
      %1 = math.sqrt %0 : vector<8xf32>
      %2 = arith.addi %begin, %c8 : i64
      // If there is another iteration:
      %3:2 = scf.while (%i = %2, %root = %1) : (i64, vector<8xf32>) -> (i64, vector<8xf32>) {
        %6 = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
        %7 = math.sqrt %6 : vector<8xf32>
        %8 = arith.subi %i, %c8 : i64
        %9 = arith.divf %root, %d : vector<8xf32>
        updraft.write %9, %p[%8] : vector<8xf32>, !updraft.elements<f32>, i64
        %10 = arith.addi %i, %c8 : i64
        %11 = arith.cmpi slt, %10, %end : i64
        scf.condition(%11) %10, %7 : i64, vector<8xf32>
      } do {
      ^bb0(%i: i64, %root: vector<8xf32>):
        scf.yield %i, %root : i64, vector<8xf32>
      }
      %4 = arith.subi %end, %c8 : i64
      %5 = arith.divf %3#1, %d : vector<8xf32>
      updraft.write %5, %p[%4] : vector<8xf32>, !updraft.elements<f32>, i64
    }
    ```

    The first half may also combine values that the loop carries with values of each iteration, for
    example for a maximum.

    If the number of elements is constant, the halves become two consecutive short loops; without
    `split-counted` such loops don't change. Scratch memory keeps the values that the second loop
    needs; the pass allocates some for those that the loop doesn't write there anyway. Only the
    second loop writes streams. It reads them again, and computes everything that the first loop
    does not need.

    ```mlir
    %whole = arith.andi %c256, %multiple_of_8 : i64
    %stop = arith.addi %begin, %whole : i64
    scf.for %i = %begin to %stop step %c8 : i64 {
      // The root, kept.
    }
    scf.for %i = %begin to %stop step %c8 : i64 {
      // The quotient, stored.
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", /*default=*/"512",
           "width of a vector register in bits">,
    Option<"window", "window", "unsigned", /*default=*/"140",
           "how many results of vector operations the CPU keeps in flight">,
    Option<"maxCarried", "max-carried", "unsigned", /*default=*/"6",
           "how many vectors may cross from one half to the other">,
    Option<"splitCounted", "split-counted", "bool", /*default=*/"true",
           "cut a loop over a known number of elements into two loops">
  ];
  let statistics = [
    Statistic<"pipelinedLoops", "pipelined-loops", "Loops that were cut in two">
  ];
}

def ConvertLoopsToLLVMPass : Pass<"convert-updraft-loops-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Lower functions with vector loops to the LLVM dialect, in one conversion";
  let description = [{
    Converts `func`, `scf`, `cf`, `arith`, `math`, `vector` and accesses of `!updraft.elements`
    together. Arithmetic keeps its IEEE meaning: the pass adds no fast-math flags and contracts
    nothing. A `math` operation without an LLVM intrinsic is refused.
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect"];
}

def ApproximatePass : Pass<"updraft-approximate", "::mlir::ModuleOp"> {
  let summary = "Use a GPU's approximate f32 quotients and roots in sweeps";
  let description = [{
    Applies to sweeps of `fast` plans, for NVIDIA GPUs. Sets the flag `afn` on f32 divisions and
    square roots, which `convert-updraft-gpu-to-nvvm` lowers to approximate instructions. Division
    by a root becomes multiplication by its reciprocal. docs/numerics.md lists the instructions and
    their errors. Elementary functions need exact quotients and are expanded after this pass.

    Before:

    ```mlir
    %0 = math.sqrt %variance : f32
    %1 = arith.addf %0, %eps : f32
    %2 = arith.divf %mean, %1 : f32
    %3 = math.sqrt %norm : f32
    %4 = arith.divf %2, %3 : f32
    ```

    After:

    ```mlir
    %0 = math.sqrt %variance fastmath<afn> : f32
    %1 = arith.addf %0, %eps : f32
    %2 = arith.divf %mean, %1 fastmath<afn> : f32
    %3 = math.rsqrt %norm fastmath<afn> : f32
    %4 = arith.mulf %2, %3 : f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let statistics = [
    Statistic<"approximatedOperations", "approximated-operations",
              "Quotients and roots that are approximated">
  ];
}

def ConvertPlanToGPUPass : Pass<"convert-updraft-plan-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Lower each plan to kernels for a GPU";
  let description = [{
    Creates a `gpu.module` with a kernel for each prologue and each sweep; `updraft-c/gpu_kernel.h`
    describes their arguments. Functions that a step does not call stay on the host. A block
    processes a chunk of a tensor. In sweeps that reduce or go by rows, a warp processes a chunk,
    and its threads exchange values to compute the upper levels of the reduction tree, so that
    results match those of a CPU.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [
    Option<"accessBits", "access-bits", "unsigned", /*default=*/"128",
           "width of a thread's loads and stores in bits: 128 or 256">
  ];
}

def ConvertGPUToNVVMPass : Pass<"convert-updraft-gpu-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower kernels to the NVVM and LLVM dialects, in one conversion";
  let description = [{
    As in `convert-updraft-loops-to-llvm`, arithmetic keeps its IEEE meaning. Roots and quotients
    are rounded to nearest, except the f32 ones that `updraft-approximate` marked. Kernels call no
    library.
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

def ConvertGPUToEmulatorPass : Pass<"convert-updraft-gpu-to-emulator", "::mlir::ModuleOp"> {
  let summary = "Turn kernels into host functions that emulate them";
  let description = [{
    Each kernel becomes two functions: one that runs once per thread, and the prologue or sweep of
    `updraft-c/kernel.h` that launches it. Anything that can step with CPU code can therefore step
    with emulated kernels. GPU operations of a thread become calls of `runtime/emulator`, which also
    checks every address that is loaded or stored.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
}

#endif // UPDRAFT_CONVERSION_PASSES_TD
