// RUN: updraft-opt %s -split-input-file -updraft-simplify -updraft-schedule -verify-diagnostics | FileCheck %s
// RUN: updraft-opt %s -split-input-file -updraft-simplify -updraft-schedule -updraft-order-stages -verify-diagnostics | FileCheck %s

// Values for matrices are also computed for vectors, which don't need them. A reduction that equals
// another, and its position in the order, must be kept.

// CHECK-LABEL: updraft.plan @R compute
// CHECK:       updraft.sweep reads({{.*}}) reduces [#updraft.reduction<sum over group>, #updraft.reduction<sum over group>] -> f64, f64
// CHECK-NOT:   updraft.sweep
// CHECK:       updraft.sweep {{.*}}writes(
// The second sum is known after the first sweep, but is the second one in vectors.
// CHECK-LABEL: updraft.plan @R_matrix compute
// CHECK:       reduces [#updraft.reduction<sum over row>]
// CHECK-NOT:   group
// CHECK:       reduces [#updraft.reduction<sum over group>, #updraft.reduction<sum over group>]
updraft.variants vectors {
  updraft.rule @R compute f32 {
    %param = updraft.param stored f32 : f32
    %grad = updraft.grad stored f32 : f32
    %unused = updraft.reduce max %param over group : f32
    %a = updraft.reduce sum %grad over group : f32
    %b = updraft.reduce sum %grad over group : f32
    %af = arith.truncf %a : f64 to f32
    %0 = arith.subf %param, %af : f32
    updraft.next %0 : f32
  }
} matrices {
  updraft.rule @R_matrix compute f32 matrix {
    %param = updraft.param stored f32 : f32
    %grad = updraft.grad stored f32 : f32
    %unused = updraft.reduce max %param over group : f32
    %rows = updraft.reduce sum %grad over row : f32
    %row = arith.truncf %rows : f64 to f32
    %scaled = arith.mulf %grad, %row : f32
    %a = updraft.reduce sum %scaled over group : f32
    %b = updraft.reduce sum %param over group : f32
    %bf = arith.truncf %b : f64 to f32
    %0 = arith.subf %param, %bf : f32
    %af = arith.truncf %a : f64 to f32
    %1 = arith.subf %0, %af : f32
    updraft.next %1 : f32
  }
}

// -----

// Sweeps over elements run before those over square matrices of the same stage. The sum over
// elements is the second one in vectors, so it waits.

// CHECK-LABEL: updraft.plan @Squares compute
// CHECK:       reduces [#updraft.reduction<sum over group>, #updraft.reduction<max over group>]
// CHECK-LABEL: updraft.plan @Squares_matrix compute
// CHECK:       updraft.sweep over rows_by_rows {{.*}} reduces [#updraft.reduction<sum over group>]
// CHECK:       updraft.sweep reads({{.*}}) reduces [#updraft.reduction<max over group>]
updraft.variants vectors {
  updraft.rule @Squares compute f32 {
    %param = updraft.param stored f32 : f32
    %grad = updraft.grad stored f32 : f32
    %a = updraft.reduce sum %grad over group : f32
    %b = updraft.reduce max %param over group : f32
    %af = arith.truncf %a : f64 to f32
    %bf = arith.truncf %b : f64 to f32
    %0 = arith.mulf %af, %bf : f32
    updraft.next %0 : f32
  }
} matrices {
  updraft.rule @Squares_matrix compute f32 matrix {
    %param = updraft.param stored f32 : f32
    %grad = updraft.grad stored f32 : f32
    %turned = updraft.transpose %grad : f32
    %gram = updraft.product %grad, %turned : f32
    %a = updraft.reduce sum %gram over group : f32
    %b = updraft.reduce max %param over group : f32
    %af = arith.truncf %a : f64 to f32
    %bf = arith.truncf %b : f64 to f32
    %0 = arith.mulf %af, %bf : f32
    updraft.next %0 : f32
  }
}

// -----

// expected-error@below {{the rules for vectors and for matrices must have the same reductions over `group`}}
module {
  updraft.variants vectors {
    updraft.rule @R compute f32 {
      %param = updraft.param stored f32 : f32
      %grad = updraft.grad stored f32 : f32
      updraft.next %grad : f32
    }
  } matrices {
    updraft.rule @R_matrix compute f32 matrix {
      %param = updraft.param stored f32 : f32
      %grad = updraft.grad stored f32 : f32
      %a = updraft.reduce sum %grad over group : f32
      %af = arith.truncf %a : f64 to f32
      updraft.next %af : f32
    }
  }
}
