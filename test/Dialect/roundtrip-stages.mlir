// RUN: updraft-opt %s | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -mlir-print-op-generic | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -emit-bytecode | updraft-opt | FileCheck %s

// Reductions, smaller extents and skipping.

// CHECK-LABEL: updraft.rule @Rule compute f32 matrix fast {
// CHECK:         %size_over_row = updraft.size over row
// CHECK:         %r = updraft.state "r" over row stored bf16 initial %{{.*}} : f32
// CHECK:         %s = updraft.state "s" over group stored f32 initial %{{.*}} : f64
// CHECK:         %[[SUM:.*]] = updraft.reduce sum %grad over tensor : f32
// CHECK:         updraft.random 3
// CHECK:         updraft.next %param, %r, %s skip(%{{.*}}) : f32, f32, f64
updraft.rule @Rule compute f32 matrix fast {
  %zero = arith.constant 0.0 : f64
  %0 = updraft.size over row
  %1 = updraft.param stored f32 : f32
  %2 = updraft.grad stored f32 : f32
  %3 = updraft.state "r" over row stored bf16 initial %zero : f32
  %4 = updraft.state "s" over group stored f32 initial %zero : f64
  %5 = updraft.reduce sum %2 over tensor : f32
  %6 = updraft.random 3
  %7 = arith.cmpf olt, %5, %0 : f64
  updraft.next %1, %3, %4 skip(%7) : f32, f32, f64
}

// CHECK-LABEL: updraft.plan @Plan compute f32 matrix {
// CHECK:         %r = updraft.stream "r" : <bf16, row>
// CHECK:         %s = updraft.scalar "s" over group stored f32
// CHECK:         %[[K:.*]]:2 = updraft.prologue(%s) : (f64) -> (f64, i1) {
// CHECK:         %[[P:.*]]:2 = updraft.sweep reads(%grad : !updraft.stream<f32>)
// CHECK-SAME:      reduces [#updraft.reduction<sum over tensor>, #updraft.reduction<max over column>]
// CHECK-SAME:      -> f64, !updraft.stream<f64, column> {
// CHECK:           updraft.store reduce(%{{.*}}, %{{.*}})
// CHECK:         %{{.*}} = updraft.sweep over row reads(%r : !updraft.stream<bf16, row>)
// CHECK-SAME:      writes(%r : !updraft.stream<bf16, row>) -> !updraft.stream<f32, row> {
// CHECK:           updraft.store %{{.*}} : f32 make(%{{.*}} : f32)
// CHECK:         updraft.commit scalars(%[[K]]#0) skip(%[[K]]#1)
updraft.plan @Plan compute f32 matrix {
  %0 = updraft.stream "param" : <f32>
  %1 = updraft.stream "grad" : <f32>
  %2 = updraft.stream "r" : <bf16, row>
  %3 = updraft.scalar "s" over group stored f32
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero, %zero : f64, f64
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %4:2 = updraft.prologue(%3) : (f64) -> (f64, i1) {
  ^bb0(%a: f64):
    %false = arith.constant false
    updraft.yield %a, %false : f64, i1
  }
  %5:2 = updraft.sweep reads(%1 : !updraft.stream<f32>)
      reduces [#updraft.reduction<sum over tensor>, #updraft.reduction<max over column>]
      -> f64, !updraft.stream<f64, column> {
  ^bb0(%a: f32):
    %w = arith.extf %a : f32 to f64
    updraft.store reduce(%w, %w)
  }
  %6 = updraft.sweep over row reads(%2 : !updraft.stream<bf16, row>)
      writes(%2 : !updraft.stream<bf16, row>) -> !updraft.stream<f32, row> {
  ^bb0(%a: f32):
    updraft.store %a : f32 make(%a : f32)
  }
  updraft.commit scalars(%4#0) skip(%4#1)
}

// CHECK-LABEL: updraft.variants vectors {
// CHECK-NEXT:    updraft.rule @Mean compute f32 {
// CHECK:         } matrices {
// CHECK-NEXT:    updraft.rule @Mean_matrix compute f32 matrix {
updraft.variants vectors {
  updraft.rule @Mean compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
} matrices {
  updraft.rule @Mean_matrix compute f32 matrix {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    %s = updraft.reduce sum %g over row : f32
    %r = arith.truncf %s : f64 to f32
    updraft.next %r : f32
  }
}
