// RUN: updraft-opt %s | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -mlir-print-op-generic | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -emit-bytecode | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -updraft-schedule -emit-bytecode | updraft-opt -o %t.bytecode.mlir
// RUN: updraft-opt %s -updraft-schedule -o %t.text.mlir
// RUN: diff %t.text.mlir %t.bytecode.mlir

// Products, transposes, matrices of other shapes, and forms for shapes.

// CHECK-LABEL: updraft.variants vectors {
// CHECK-NEXT:    updraft.rule @R compute f32 fast {
// CHECK:       } matrices {
// CHECK-NEXT:    updraft.rule @R_wide compute f32 matrix shapes wide fast {
// CHECK:           %[[T:.*]] = updraft.transpose %grad : f32
// CHECK:           %[[GRAM:.*]] = updraft.product symmetric %grad, %[[T]] : f32
// CHECK:           %[[Y:.*]] = updraft.product %[[GRAM]], %grad {note = "x"} : f32
// CHECK:           updraft.next %[[Y]] : f32
// CHECK:         updraft.rule @R_square_tall compute f32 matrix shapes square|tall fast {
updraft.variants vectors {
  updraft.rule @R compute f32 fast {
    %0 = updraft.param stored f32 : f32
    %1 = updraft.grad stored f32 : f32
    updraft.next %1 : f32
  }
} matrices {
  updraft.rule @R_wide compute f32 matrix shapes wide fast {
    %0 = updraft.param stored f32 : f32
    %1 = updraft.grad stored f32 : f32
    %2 = updraft.transpose %1 : f32
    %3 = updraft.product symmetric %1, %2 : f32
    %4 = updraft.product %3, %1 {note = "x"} : f32
    updraft.next %4 : f32
  }
  updraft.rule @R_square_tall compute f32 matrix shapes tall|square fast {
    %0 = updraft.param stored f32 : f32
    %1 = updraft.grad stored f32 : f32
    updraft.next %1 : f32
  }
}

// CHECK-LABEL: updraft.variants vectors {
// CHECK-NEXT:  } matrices {
// CHECK-NEXT:    updraft.rule @M_square compute f64 matrix shapes square {
// CHECK:         updraft.rule @M_square_wide_tall compute f64 matrix shapes wide|tall {
updraft.variants vectors {} matrices {
  updraft.rule @M_square compute f64 matrix shapes square {
    %0 = updraft.param stored f64 : f64
    %1 = updraft.grad stored f64 : f64
    updraft.next %1 : f64
  }
  updraft.rule @M_square_wide_tall compute f64 matrix shapes wide|tall {
    %0 = updraft.param stored f64 : f64
    %1 = updraft.grad stored f64 : f64
    updraft.next %0 : f64
  }
}

// CHECK-LABEL: updraft.plan @Plan compute f32 matrix shapes wide|square {
// CHECK:         %[[GRAM:.*]] = updraft.multiply symmetric %param, %param transposed : <f32>, <f32> -> <f32, rows_by_rows>
// CHECK:         %[[MADE:.*]] = updraft.sweep over rows_by_rows reads(%[[GRAM]] : !updraft.stream<f32, rows_by_rows>)
// CHECK-SAME:      -> !updraft.stream<f32, rows_by_rows> {
// CHECK:         %[[Y:.*]] = updraft.multiply %[[MADE]] transposed, %param {note = "y"} : <f32, rows_by_rows>, <f32> -> <f32>
// CHECK:         updraft.multiply %param transposed, %[[Y]] : <f32>, <f32> -> <f32, columns_by_columns>
updraft.plan @Plan compute f32 matrix shapes wide|square {
  %0 = updraft.stream "param" : <f32>
  %1 = updraft.stream "grad" : <f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %2 = updraft.multiply symmetric %0, %0 transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %3 = updraft.sweep over rows_by_rows reads(%2 : !updraft.stream<f32, rows_by_rows>) -> !updraft.stream<f32, rows_by_rows> {
  ^bb0(%arg0: f32):
    updraft.store make(%arg0 : f32)
  }
  %4 = updraft.multiply %3 transposed, %0 {note = "y"} : <f32, rows_by_rows>, <f32> -> <f32>
  %5 = updraft.multiply %0 transposed, %4 : <f32>, <f32> -> <f32, columns_by_columns>
}

// Products whose operands may be rounded.
// CHECK-LABEL: updraft.rule @Rounded compute f32 matrix fast {
// CHECK:         %[[A:.*]] = updraft.product bf16 symmetric %grad, %{{.*}} : f32
// CHECK:         updraft.product f16 %[[A]], %grad {note = "f16"} : f32
updraft.rule @Rounded compute f32 matrix fast {
  %0 = updraft.param stored f32 : f32
  %1 = updraft.grad stored f32 : f32
  %2 = updraft.transpose %1 : f32
  %3 = updraft.product bf16 symmetric %1, %2 : f32
  %4 = updraft.product f16 %3, %1 {note = "f16"} : f32
  updraft.next %4 : f32
}

// CHECK-LABEL: updraft.plan @RoundedPlan compute f32 matrix fast {
// CHECK:         %[[A:.*]] = updraft.multiply bf16 %param, %param transposed : <f32>, <f32> -> <f32, rows_by_rows>
// CHECK:         updraft.multiply f16 symmetric %[[A]], %[[A]] : <f32, rows_by_rows>, <f32, rows_by_rows> -> <f32, rows_by_rows>
updraft.plan @RoundedPlan compute f32 matrix fast {
  %0 = updraft.stream "param" : <f32>
  %1 = updraft.stream "grad" : <f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %2 = updraft.multiply bf16 %0, %0 transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %3 = updraft.multiply f16 symmetric %2, %2 : <f32, rows_by_rows>, <f32, rows_by_rows> -> <f32, rows_by_rows>
}

// States of square matrices, and the identity.
// CHECK-LABEL: updraft.rule @States compute f32 matrix {
// CHECK:         %l = updraft.state "l" over rows_by_rows stored f32 initial %{{.*}} : f32
// CHECK:         %r = updraft.state "r" over columns_by_columns stored bf16 initial %{{.*}} from_step : f32
// CHECK:         %[[I:.*]] = updraft.identity over rows_by_rows : f32
// CHECK:         %[[SUM:.*]] = arith.addf %l, %[[I]] : f32
// CHECK:         updraft.next %{{.*}}, %[[SUM]], %r : f32, f32, f32
updraft.rule @States compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %0 = updraft.param stored f32 : f32
  %1 = updraft.grad stored f32 : f32
  %2 = updraft.state "l" over rows_by_rows stored f32 initial %zero : f32
  %3 = updraft.state "r" over columns_by_columns stored bf16 initial %zero from_step : f32
  %4 = updraft.identity over rows_by_rows : f32
  %5 = arith.addf %2, %4 : f32
  %6 = updraft.product %5, %1 : f32
  updraft.next %6, %5, %3 : f32, f32, f32
}

// Values of a smaller extent as matrices.
// CHECK-LABEL: updraft.rule @Broadcast compute f32 matrix {
// CHECK:         %[[ONES:.*]] = updraft.broadcast %{{.*}} over rows_by_rows : f32
// CHECK:         %[[G:.*]] = updraft.broadcast %grad over element : f32
// CHECK:         updraft.product %[[ONES]], %[[G]] : f32
updraft.rule @Broadcast compute f32 matrix {
  %0 = updraft.param stored f32 : f32
  %1 = updraft.grad stored f32 : f32
  %one = arith.constant 1.0 : f32
  %2 = updraft.broadcast %one over rows_by_rows : f32
  %3 = updraft.broadcast %1 over element : f32
  %4 = updraft.product %2, %3 : f32
  updraft.next %4 : f32
}

// A product that adds a matrix.
// CHECK-LABEL: updraft.plan @Sums compute f32 matrix {
// CHECK:         %[[K:.*]]:2 = updraft.prologue()
// CHECK:         %[[A:.*]] = updraft.multiply symmetric %param, %param transposed : <f32>, <f32> -> <f32, rows_by_rows>
// CHECK:         %[[B:.*]] = updraft.multiply when(%[[K]]#1) %[[A]], %param scale(%[[K]]#0) addend(%grad) addend_scale(%[[K]]#0) {note = "b"} : <f32, rows_by_rows>, <f32> -> <f32>
// CHECK:         updraft.multiply %[[A]] transposed, %[[B]] addend(%[[B]]) : <f32, rows_by_rows>, <f32> -> <f32>
// CHECK:         updraft.multiply %[[A]], %[[B]] addend(%[[B]]) addend_scale(%[[K]]#0) sum_scale(%[[K]]#0) target(%param) target_scale(%[[K]]#0) : <f32, rows_by_rows>, <f32> -> <f32>
// CHECK:         updraft.multiply %[[A]], %grad target(%param) : <f32, rows_by_rows>, <f32> -> <f32>
updraft.plan @Sums compute f32 matrix {
  %0 = updraft.stream "param" : <f32>
  %1 = updraft.stream "grad" : <f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %2, %3 = updraft.prologue() : () -> (f32, i1) {
    %one = arith.constant 1.0 : f32
    %true = arith.constant true
    updraft.yield %one, %true : f32, i1
  }
  %4 = updraft.multiply symmetric %0, %0 transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %5 = updraft.multiply when(%3) %4, %0 scale(%2) addend(%1) addend_scale(%2) {note = "b"} : <f32, rows_by_rows>, <f32> -> <f32>
  %6 = updraft.multiply %4 transposed, %5 addend(%5) : <f32, rows_by_rows>, <f32> -> <f32>
  %7 = updraft.multiply %4, %5 addend(%5) addend_scale(%2) sum_scale(%2) target(%0) target_scale(%2) : <f32, rows_by_rows>, <f32> -> <f32>
  %8 = updraft.multiply %4, %1 target(%0) : <f32, rows_by_rows>, <f32> -> <f32>
}
