// RUN: updraft-opt %s -updraft-schedule -split-input-file | FileCheck %s

// Reductions of the next parameter are part of the sweep that writes it, so probes add no sweep. A
// prologue after the last sweep computes them.
// CHECK-LABEL: updraft.plan @Descent
// CHECK:         %[[K:.*]]:2 = updraft.prologue({{.*}}) : (f64, f64) -> (f32, f64)
// CHECK:         %[[SUMS:.*]]:2 = updraft.sweep scalars(%[[K]]#0 : f32)
// CHECK-SAME:      writes(%param : !updraft.stream<f32>)
// CHECK-SAME:      reduces [#updraft.reduction<sum over tensor>, #updraft.reduction<sum over tensor>] -> f64, f64 {
// CHECK-NOT:     updraft.sweep
// CHECK:         %[[RATIO:.*]] = updraft.prologue(%[[SUMS]]#0, %[[SUMS]]#1) : (f64, f64) -> f64
// CHECK-NOT:     updraft.sweep
// CHECK:         updraft.probe "ratio" = %[[RATIO]]
// CHECK-NEXT:    updraft.probe "size" = %[[K]]#1
updraft.rule @Descent compute f32 {
  %lr = updraft.hyper "lr" = 1.0e-3
  %n = updraft.size over tensor
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %k = arith.truncf %lr : f64 to f32
  %d = arith.mulf %k, %g : f32
  %p1 = arith.subf %p, %d : f32
  %u = arith.subf %p1, %p : f32
  %uw = arith.extf %u : f32 to f64
  %u2 = arith.mulf %uw, %uw : f64
  %us = updraft.reduce sum %u2 over tensor : f64
  %pw = arith.extf %p : f32 to f64
  %p2 = arith.mulf %pw, %pw : f64
  %ps = updraft.reduce sum %p2 over tensor : f64
  %q = arith.divf %us, %ps : f64
  updraft.probe "ratio" = %q
  updraft.probe "size" = %n
  updraft.next %p1 : f32
}

// -----

// What the first prologue knows is computed there.
// CHECK-LABEL: updraft.plan @Rate
// CHECK:         %[[K:.*]]:2 = updraft.prologue(%lr) : (f64) -> (f32, f64)
// CHECK:         updraft.sweep
// CHECK-NOT:     updraft.prologue
// CHECK:         updraft.probe "rate" = %[[K]]#1
updraft.rule @Rate compute f32 {
  %lr = updraft.hyper "lr" = 1.0e-3
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %k = arith.truncf %lr : f64 to f32
  %d = arith.mulf %k, %g : f32
  updraft.probe "rate" = %lr
  updraft.next %d : f32
}

// -----

// A probe can be a scalar state's next value, too. Each has its own result.
// CHECK-LABEL: updraft.plan @Counted
// CHECK:         %[[N:.*]]:2 = updraft.prologue(%n) : (f64) -> (f64, f64)
// CHECK:         updraft.commit scalars(%[[N]]#0)
// CHECK-NEXT:    updraft.probe "count" = %[[N]]#1
updraft.rule @Counted compute f32 {
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = updraft.state "n" over tensor stored f64 initial %zero : f64
  %n1 = arith.addf %n, %one : f64
  updraft.probe "count" = %n1
  updraft.next %p, %n1 : f32, f64
}
