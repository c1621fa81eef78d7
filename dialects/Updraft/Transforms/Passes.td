//===- Passes.td - Passes from rule to plan ------------------------------------*- tablegen -*-===//

#ifndef UPDRAFT_TRANSFORMS_PASSES_TD
#define UPDRAFT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def SimplifyPass : Pass<"updraft-simplify", "::mlir::ModuleOp"> {
  let summary = "Simplify rules without changing the bits of their results";
  let description = [{
    Folds, applies identities that are exact under IEEE 754 (see ExactAlgebra.td, which also lists
    those that only look exact), merges common subexpressions, and drops unused operations,
    requirements that always hold, and broadcasts of values that have the extent anyway. Nothing is
    reassociated or contracted. Keeps the interface of a rule: hyperparameters, parameter, gradient
    and states, used or not.

    Before:

    ```mlir
    %minus_one = arith.constant -1.000000e+00 : f64
    %a = arith.mulf %lr, %minus_one : f64
    %k = arith.truncf %a : f64 to f32
    %four = arith.constant 4.000000e+00 : f32
    %q = arith.divf %g, %four : f32
    ```

    After:

    ```mlir
    %quarter = arith.constant 2.500000e-01 : f32
    %a = arith.negf %lr : f64
    %k = arith.truncf %a : f64 to f32
    %q = arith.mulf %g, %quarter : f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::updraft::UpdraftDialect"];
  let statistics = [
    Statistic<"removedOperations", "removed-operations", "Operations that rules no longer have">
  ];
}

def SeparateProbesPass : Pass<"updraft-separate-probes", "::mlir::ModuleOp"> {
  let summary = "Make a rule without probes beside each rule that has some";
  let description = [{
    A rule with probes becomes two rules: the first has no probes, and the second has the name with
    `_probed` behind. Forms of `updraft.variants` become two `updraft.variants`, whose names are
    @R, @R_matrix and @R_probed, @R_probed_matrix. A step that isn't probed then runs the code of a
    rule without probes.

    Before:

    ```mlir
    updraft.rule @SGD compute f32 {
      %param = updraft.param stored f32 : f32
      %grad = updraft.grad stored f32 : f32
      %0 = arith.subf %param, %grad : f32
      %1 = updraft.reduce max %grad over tensor : f32
      updraft.probe "largest" = %1
      updraft.next %0 : f32
    }
    ```

    After:

    ```mlir
    updraft.rule @SGD compute f32 {
      %param = updraft.param stored f32 : f32
      %grad = updraft.grad stored f32 : f32
      %0 = arith.subf %param, %grad : f32
      %1 = updraft.reduce max %grad over tensor : f32
      updraft.next %0 : f32
    }
    updraft.rule @SGD_probed compute f32 {
      %param = updraft.param stored f32 : f32
      %grad = updraft.grad stored f32 : f32
      %0 = arith.subf %param, %grad : f32
      %1 = updraft.reduce max %grad over tensor : f32
      updraft.probe "largest" = %1
      updraft.next %0 : f32
    }
    ```
  }];
  let dependentDialects = ["::updraft::UpdraftDialect"];
  let options = [
    Option<"onlyUnprobed", "only-unprobed", "bool", "false", "Make no rules with probes">
  ];
  let statistics = [
    Statistic<"separatedProbes", "separated-probes", "Probes that one of two rules no longer has">
  ];
}

def ExpandStoragePass : Pass<"updraft-expand-storage", "::mlir::ModuleOp"> {
  let summary = "Expand stochastic rounding and corrections of stored values";
  let description = [{
    A parameter or state stored as `!updraft.stochastic` or `!updraft.corrected` becomes a plain
    stream, and the rule computes values that this stream holds exactly; docs/numerics.md lists the
    formulas. Stochastic rounding takes 16 bits of an `updraft.random`, so four streams share one
    operation. A correction becomes a separate state, stored as `i8`, whose name is that of its
    stream followed by `_correction`. A value that a step does not change is not rounded.

    Before:

    ```mlir
    updraft.rule @SGD compute f32 {
      %param = updraft.param stored !updraft.stochastic<bf16> : f32
      %grad = updraft.grad stored bf16 : f32
      %0 = arith.subf %param, %grad : f32
      updraft.next %0 : f32
    }
    ```

    After:

    ```mlir
    updraft.rule @SGD compute f32 {
      %param = updraft.param stored bf16 : f32
      %grad = updraft.grad stored bf16 : f32
      %0 = arith.subf %param, %grad : f32
      %1 = updraft.random 16
      %2 = arith.bitcast %0 : f32 to i32
      %3 = arith.trunci %1 : i64 to i32
      %c65535 = arith.constant 65535 : i32
      %4 = arith.andi %3, %c65535 : i32
      %5 = arith.addi %2, %4 : i32
      %c4194304 = arith.constant 4194304 : i32
      %6 = arith.ori %2, %c4194304 : i32
      %7 = arith.cmpf uno, %0, %0 : f32
      %8 = arith.select %7, %6, %5 : i32
      %c-65536 = arith.constant -65536 : i32
      %9 = arith.andi %8, %c-65536 : i32
      %10 = arith.bitcast %9 : i32 to f32
      updraft.next %10 : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::updraft::UpdraftDialect"];
  let statistics = [
    Statistic<"expandedStreams", "expanded-streams", "Streams whose storage became arithmetic">
  ];
}

def RelaxPass : Pass<"updraft-relax", "::mlir::ModuleOp"> {
  let summary = "Make the tensor arithmetic of rules cheaper, within stated errors";
  let description = [{
    Applies to `fast` rules. A division by a scalar becomes a multiplication by its reciprocal.
    Scalars that multiply a tensor one after the other are multiplied together first. Quotients with
    the same divisor that are added to a sum one after the other become one division. A product is
    fused with the sum or difference that is its only use. Scalars are computed in f64, so each
    rewrite has the error that docs/numerics.md states, and the same bits on every target.
    `updraft-approximate`, which knows its target, handles square roots and divisions of tensors.

    Before:

    ```mlir
    updraft.rule @Descent compute f32 fast {
      %lr = updraft.hyper "lr" = 1.000000e-03
      %scale = updraft.hyper "scale" = 1.000000e+00
      %param = updraft.param stored f32 : f32
      %grad = updraft.grad stored f32 : f32
      %0 = arith.truncf %scale : f64 to f32
      %1 = arith.divf %grad, %0 : f32
      %2 = arith.truncf %lr : f64 to f32
      %3 = arith.mulf %2, %1 : f32
      %4 = arith.subf %param, %3 : f32
      updraft.next %4 : f32
    }
    ```

    After:

    ```mlir
    updraft.rule @Descent compute f32 fast {
      %lr = updraft.hyper "lr" = 1.000000e-03
      %scale = updraft.hyper "scale" = 1.000000e+00
      %param = updraft.param stored f32 : f32
      %grad = updraft.grad stored f32 : f32
      %cst = arith.constant 1.000000e+00 : f64
      %0 = arith.divf %cst, %scale : f64
      %1 = arith.mulf %0, %lr : f64
      %2 = arith.truncf %1 : f64 to f32
      %3 = arith.negf %2 : f32
      %4 = math.fma %grad, %3, %param : f32
      updraft.next %4 : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let statistics = [
    Statistic<"appliedRewrites", "applied-rewrites", "Rewrites of tensor arithmetic that were applied">
  ];
}

def OrientProductsPass : Pass<"updraft-orient-products", "::mlir::ModuleOp"> {
  let summary = "Compute with matrices as the parameter lies in memory";
  let description = [{
    A rule may compute with the transpose of the parameter, as for a matrix with more rows than
    columns. This pass replaces such values by their transposes, which have the parameter's shape
    again: elementwise operations by the same operations, and products by products of the
    transposed factors in the other order. Their bits are the same. The transposes that remain are
    operands of products. Where anything else needs the transpose of a square matrix that isn't a
    product of others, such as a state, the pass adds `updraft.apply transpose`, which makes it in
    memory. Products whose result is symmetric are marked, so that only one triangle is computed.

    Before:

    ```mlir
    updraft.rule @Tall compute f32 matrix {
      %param = updraft.param stored f32 : f32
      %grad = updraft.grad stored f32 : f32
      %x = updraft.transpose %grad : f32
      %0 = updraft.transpose %x : f32
      %gram = updraft.product %x, %0 : f32
      %1 = updraft.product %gram, %x : f32
      %2 = arith.addf %x, %1 : f32
      %3 = updraft.transpose %2 : f32
      updraft.next %3 : f32
    }
    ```

    After:

    ```mlir
    updraft.rule @Tall compute f32 matrix {
      %param = updraft.param stored f32 : f32
      %grad = updraft.grad stored f32 : f32
      %x = updraft.transpose %grad : f32
      %gram = updraft.product symmetric %x, %grad : f32
      %0 = updraft.product %grad, %gram : f32
      %1 = arith.addf %grad, %0 : f32
      updraft.next %1 : f32
    }
    ```
  }];
  let dependentDialects = ["::updraft::UpdraftDialect"];
  let statistics = [
    Statistic<"removedTransposes", "removed-transposes", "Transposes that rules no longer have">
  ];
}

def SchedulePass : Pass<"updraft-schedule", "::mlir::ModuleOp"> {
  let summary = "Turn each rule into a plan: host functions and as few sweeps as possible";
  let description = [{
    Runs each operation at its smallest extent. Requirements and initial values become host
    functions of the hyperparameters. A prologue computes each scalar that element arithmetic uses
    once; the scalar enters the sweep in the compute type or as i1. Constants are copied to their
    uses. A sweep reads the streams that it uses, and writes those whose value changes. A rule that
    changes nothing gets no sweep, and a rule without reductions gets one. Each reduction in a chain
    of reductions that the next values depend on adds one sweep. Values of an earlier sweep are
    recomputed, or are stored early and read back if that moves fewer bytes and loses no bits.

    Before:

    ```mlir
    updraft.rule @SGD compute f32 {
      %lr = updraft.hyper "lr" = 1.000000e-03
      %param = updraft.param stored f32 : f32
      %grad = updraft.grad stored f32 : f32
      %0 = arith.truncf %lr : f64 to f32
      %1 = arith.mulf %0, %grad : f32
      %2 = arith.subf %param, %1 : f32
      updraft.next %2 : f32
    }
    ```

    After:

    ```mlir
    updraft.plan @SGD compute f32 {
      %lr = updraft.hyper "lr" = 1.000000e-03
      %param = updraft.stream "param" : !updraft.stream<f32>
      %grad = updraft.stream "grad" : !updraft.stream<f32>
      updraft.initial() {
        updraft.yield
      }
      updraft.validate() messages [] {
        updraft.yield
      }
      %0 = updraft.prologue(%lr) : (f64) -> f32 {
      ^bb0(%lr_0: f64):
        %1 = arith.truncf %lr_0 : f64 to f32
        updraft.yield %1 : f32
      }
      updraft.sweep scalars(%0 : f32)
          reads(%param, %grad : !updraft.stream<f32>, !updraft.stream<f32>)
          writes(%param : !updraft.stream<f32>) {
      ^bb0(%arg0: f32, %param_0: f32, %grad_0: f32):
        %1 = arith.mulf %arg0, %grad_0 : f32
        %2 = arith.subf %param_0, %1 : f32
        updraft.store %2 : f32
      }
    }
    ```
  }];
  let dependentDialects = ["::updraft::UpdraftDialect"];
  let statistics = [
    Statistic<"hoistedScalars", "hoisted-scalars", "Scalars that cross from a prologue into a sweep">
  ];
}

def FuseEpiloguesPass : Pass<"updraft-fuse-epilogues", "::mlir::ModuleOp"> {
  let summary = "Add matrices to products where their tiles are stored";
  let description = [{
    For plans that run on a CPU. If a sweep adds a matrix to a product, each times a scalar, or
    subtracts one from the other, the product does it: it adds the matrix to each tile before it
    stores the tile. So the product is never in memory, and the sweep reads the sum in place of two
    streams. If the sweep adds a second matrix, and only stores the sum to that matrix, the matrix
    becomes the product's target. A sweep that computed nothing else is erased. Bits stay the same,
    and a step needs no more matrices at a time. Constant factors become results of the first
    prologue.

    A product adds at most one matrix, and writes at most one target. It doesn't compute a sum if the sweep uses an element of the product
    or the matrix for something else, too; if the matrix has another shape or type; if the sweep has
    another condition than the product; if the sum needs something that is computed after the
    product; or if the product is symmetric and the matrix isn't known to be.

    Before:

    ```mlir
    updraft.plan @Step compute f32 matrix {
      %a = updraft.hyper "a" = 5.000000e-01
      %param = updraft.stream "param" : <f32>
      %grad = updraft.stream "grad" : <f32>
      updraft.initial() {
        updraft.yield
      }
      updraft.validate() messages [] {
        updraft.yield
      }
      %0 = updraft.prologue(%a) : (f64) -> f32 {
      ^bb0(%arg0: f64):
        %1 = arith.truncf %arg0 : f64 to f32
        updraft.yield %1 : f32
      }
      %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
      %product = updraft.multiply %gram, %grad : <f32, rows_by_rows>, <f32> -> <f32>
      %sum = updraft.sweep scalars(%0 : f32) reads(%grad, %product : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
      ^bb0(%arg0: f32, %arg1: f32, %arg2: f32):
        %1 = arith.mulf %arg0, %arg1 : f32
        %2 = arith.addf %1, %arg2 : f32
        updraft.store make(%2 : f32)
      }
      %next = updraft.multiply %gram, %sum : <f32, rows_by_rows>, <f32> -> <f32>
      updraft.sweep reads(%next : !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
      ^bb0(%arg0: f32):
        updraft.store %arg0 : f32
      }
    }
    ```

    After:

    ```mlir
    updraft.plan @Step compute f32 matrix {
      %a = updraft.hyper "a" = 5.000000e-01
      %param = updraft.stream "param" : <f32>
      %grad = updraft.stream "grad" : <f32>
      updraft.initial() {
        updraft.yield
      }
      updraft.validate() messages [] {
        updraft.yield
      }
      %0 = updraft.prologue(%a) : (f64) -> f32 {
      ^bb0(%arg0: f64):
        %1 = arith.truncf %arg0 : f64 to f32
        updraft.yield %1 : f32
      }
      %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
      %sum = updraft.multiply %gram, %grad addend(%grad) addend_scale(%0) : <f32, rows_by_rows>, <f32> -> <f32>
      %next = updraft.multiply %gram, %sum : <f32, rows_by_rows>, <f32> -> <f32>
      updraft.sweep reads(%next : !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
      ^bb0(%arg0: f32):
        updraft.store %arg0 : f32
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::updraft::UpdraftDialect"];
  let statistics = [
    Statistic<"fusedSums", "fused-sums", "Sums that became parts of products">
  ];
}

def OrderStagesPass : Pass<"updraft-order-stages", "::mlir::ModuleOp"> {
  let summary = "Order the stages of a plan so that fewer matrices are in memory at a time";
  let description = [{
    The schedule interleaves independent parts of a rule. A rule that preconditions both sides of a
    matrix needs fewer matrices at a time if it finishes one side before it starts the other.
    Between two prologues, this pass searches for the order that needs the fewest. It keeps the
    order of stages that use the same stream of the plan, if one of them writes it, and of
    reductions over the group. A sweep can make a matrix in the memory of one that it reads, and
    calls that follow each other run at the same time. Nothing changes if the order of the schedule
    is as good, if the other order needs more memory for a parameter whose sides are as 1 to 4, or
    if the search takes too long. Bits stay the same.
  }];
  let options = [
    Option<"maxSets", "max-sets", "unsigned", "2000",
           "The most sets of finished stages that the search of a section looks at">
  ];
  let statistics = [
    Statistic<"orderedSections", "ordered-sections", "Sections whose stages were reordered">,
    Statistic<"unfinishedSections", "unfinished-sections", "Sections whose search took too long">
  ];
}

def ExpandMathPass : Pass<"updraft-expand-math", "::mlir::ModuleOp"> {
  let summary = "Expand mathematical functions into arithmetic";
  let description = [{
    In rules and in the sweeps of plans, `math.exp`, `math.log`, `math.tanh` and `math.powf` on
    scalars of f32 and f64 become arithmetic, `math.fma` and bit operations. They have the same bits
    everywhere and need no library; docs/numerics.md states their errors. `updraft-outline-math`
    gives the same expansions to the functions of a plan's host functions, and of its sweeps if
    these have more than 32. It also handles more than 32 powers by integers.

    In plans, `math.fpowi` becomes the algorithm of docs/dialect.md: squaring, with one loop
    iteration per bit of the exponent. A constant exponent needs no loop and is also expanded in
    sweeps.

    Before:

    ```mlir
    %cubed = arith.constant 3 : i64
    %p = math.fpowi %x, %cubed : f64, i64
    ```

    After:

    ```mlir
    %0 = arith.mulf %x, %x : f64
    %p = arith.mulf %x, %0 : f64
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"expandedOperations", "expanded-operations", "Operations that became arithmetic">
  ];
}

#endif // UPDRAFT_TRANSFORMS_PASSES_TD
