// RUN: updraft-opt %s -updraft-schedule -split-input-file | FileCheck %s

// The prologue computes each scalar once, in the compute type for sweeps. Constants are copied.
// Initial values and requirements are functions of hyperparameters only.
// CHECK-LABEL: updraft.plan @Momentum compute f32 {
// CHECK-NEXT:    %[[LR:.*]] = updraft.hyper "lr" = 1.000000e-03
// CHECK-NEXT:    %[[MU:.*]] = updraft.hyper "momentum" = 9.000000e-01
// CHECK-NEXT:    updraft.hyper "unused" = 2.000000e+00
// CHECK-NEXT:    %[[T:.*]] = updraft.step
// CHECK-NEXT:    %[[FIRST:.*]] = updraft.first
// CHECK-NEXT:    %[[P:.*]] = updraft.stream "param" : <bf16>
// CHECK-NEXT:    %[[G:.*]] = updraft.stream "grad" : <f16>
// CHECK-NEXT:    %[[B:.*]] = updraft.stream "buffer" : <f32>
// CHECK-NEXT:    updraft.initial(%[[LR]]) {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f64):
// CHECK-NEXT:      %[[HALF:.*]] = arith.constant 5.000000e-01 : f64
// CHECK-NEXT:      %[[I:.*]] = arith.mulf %[[A]], %[[HALF]] : f64
// CHECK-NEXT:      updraft.yield %[[I]] : f64
// CHECK:         updraft.validate(%[[LR]], %[[MU]]) messages ["bad lr: {lr}", "bad momentum"] {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f64, %[[C:.*]]: f64):
// CHECK-NEXT:      %[[HALF:.*]] = arith.constant 5.000000e-01 : f64
// CHECK-NEXT:      %[[V0:.*]] = arith.cmpf oge, %[[A]], %[[HALF]] : f64
// CHECK-NEXT:      %[[V1:.*]] = arith.cmpf olt, %[[C]], %[[HALF]] : f64
// CHECK-NEXT:      updraft.yield %[[V0]], %[[V1]] : i1, i1
// CHECK:         %[[K:.*]]:3 = updraft.prologue(%[[LR]], %[[MU]], %[[T]], %[[FIRST]]) : (f64, f64, f64, i1) -> (i1, f32, f32) {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f64, %[[C:.*]]: f64, %[[TA:.*]]: f64, %[[FA:.*]]: i1):
// CHECK-NEXT:      %[[S:.*]] = arith.divf %[[A]], %[[TA]] : f64
// CHECK-NEXT:      %[[SF:.*]] = arith.truncf %[[S]] : f64 to f32
// CHECK-NEXT:      %[[MF:.*]] = arith.truncf %[[C]] : f64 to f32
// CHECK-NEXT:      updraft.yield %[[FA]], %[[SF]], %[[MF]] : i1, f32, f32
// CHECK:         updraft.sweep scalars(%[[K]]#0, %[[K]]#1, %[[K]]#2 : i1, f32, f32)
// CHECK-SAME:      reads(%[[P]], %[[G]], %[[B]] : !updraft.stream<bf16>, !updraft.stream<f16>, !updraft.stream<f32>)
// CHECK-SAME:      writes(%[[P]], %[[B]] : !updraft.stream<bf16>, !updraft.stream<f32>) {
// CHECK-NEXT:    ^bb0(%[[F:.*]]: i1, %[[S:.*]]: f32, %[[M:.*]]: f32, %[[PE:.*]]: f32, %[[GE:.*]]: f32, %[[BE:.*]]: f32):
// CHECK-NEXT:      %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:      %[[G2:.*]] = arith.mulf %[[GE]], %[[TWO]] : f32
// CHECK-NEXT:      %[[X:.*]] = arith.mulf %[[BE]], %[[M]] : f32
// CHECK-NEXT:      %[[Y:.*]] = arith.addf %[[X]], %[[G2]] : f32
// CHECK-NEXT:      %[[B1:.*]] = arith.select %[[F]], %[[G2]], %[[Y]] : f32
// CHECK-NEXT:      %[[D:.*]] = arith.mulf %[[S]], %[[B1]] : f32
// CHECK-NEXT:      %[[P1:.*]] = arith.subf %[[PE]], %[[D]] : f32
// CHECK-NEXT:      updraft.store %[[P1]], %[[B1]] : f32, f32
// CHECK-NEXT:    }
// CHECK-NOT:     updraft.rule
updraft.rule @Momentum compute f32 {
  %lr = updraft.hyper "lr" = 1.0e-3
  %mu = updraft.hyper "momentum" = 0.9
  %unused = updraft.hyper "unused" = 2.0
  %half = arith.constant 0.5 : f64
  %two = arith.constant 2.0 : f32
  %ok = arith.cmpf oge, %lr, %half : f64
  updraft.require %ok, "bad lr: {lr}"
  %ok2 = arith.cmpf olt, %mu, %half : f64
  updraft.require %ok2, "bad momentum"
  %t = updraft.step
  %first = updraft.first
  %p = updraft.param stored bf16 : f32
  %g = updraft.grad stored f16 : f32
  %i = arith.mulf %lr, %half : f64
  %b = updraft.state "buffer" stored f32 initial %i : f32
  %scale = arith.divf %lr, %t : f64
  %s = arith.truncf %scale : f64 to f32
  %dead = arith.mulf %t, %t : f64
  %g2 = arith.mulf %g, %two : f32
  %m = arith.truncf %mu : f64 to f32
  %x = arith.mulf %b, %m : f32
  %y = arith.addf %x, %g2 : f32
  %b1 = arith.select %first, %g2, %y : f32
  %dead_element = math.sqrt %b : f32
  %d = arith.mulf %s, %b1 : f32
  %p1 = arith.subf %p, %d : f32
  updraft.next %p1, %b1 : f32, f32
}

// -----

// Streams are in the plan's order, wherever the rule declares them. Unchanged values aren't
// written, unused values aren't read, and states may be exchanged.
// CHECK-LABEL: updraft.plan @Order
// CHECK:         %[[P:.*]] = updraft.stream "param"
// CHECK-NEXT:    %[[G:.*]] = updraft.stream "grad"
// CHECK-NEXT:    %[[A:.*]] = updraft.stream "a"
// CHECK-NEXT:    %[[B:.*]] = updraft.stream "b"
// CHECK-NEXT:    %[[C:.*]] = updraft.stream "c"
// CHECK:         updraft.sweep reads(%[[G]], %[[A]], %[[B]] : {{.*}}) writes(%[[A]], %[[B]] : {{.*}}) {
// CHECK-NEXT:    ^bb0(%[[GE:.*]]: f32, %[[AE:.*]]: f32, %[[BE:.*]]: f32):
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[AE]], %[[GE]] : f32
// CHECK-NEXT:      updraft.store %[[BE]], %[[S]] : f32, f32
updraft.rule @Order compute f32 {
  %zero = arith.constant 0.0 : f64
  %a = updraft.state "a" stored f32 initial %zero : f32
  %b = updraft.state "b" stored f32 initial %zero : f32
  %c = updraft.state "c" stored f32 initial %zero : f32
  %g = updraft.grad stored f32 : f32
  %p = updraft.param stored f32 : f32
  %s = arith.addf %a, %g : f32
  updraft.next %p, %b, %s, %c : f32, f32, f32, f32
}

// -----

// In f64 a hyperparameter is passed unchanged, and a stored scalar isn't an element.
// CHECK-LABEL: updraft.plan @Fill compute f64
// CHECK:         %[[K:.*]] = updraft.prologue(%[[LR:.*]]) : (f64) -> f64 {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f64):
// CHECK-NEXT:      updraft.yield %[[A]] : f64
// CHECK:         updraft.sweep scalars(%[[K]] : f64) writes(%{{.*}}, %{{.*}} : !updraft.stream<f64>, !updraft.stream<f32>) {
// CHECK-NEXT:    ^bb0(%[[S:.*]]: f64):
// CHECK-NEXT:      %[[ONE:.*]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:      updraft.store %[[S]], %[[ONE]] : f64, f64
updraft.rule @Fill compute f64 {
  %lr = updraft.hyper "lr" = 1.0
  %one = arith.constant 1.0 : f64
  %p = updraft.param stored f64 : f64
  %g = updraft.grad stored f64 : f64
  %m = updraft.state "m" stored f32 initial %one : f64
  updraft.next %lr, %one : f64, f64
}

// -----

// A rule without changes has no sweeps, but it has the functions of its interface.
// CHECK-LABEL: updraft.plan @Nothing
// CHECK:         updraft.initial() {
// CHECK:         updraft.validate() messages [] {
// CHECK:         updraft.prologue() : () -> () {
// CHECK-NOT:     updraft.sweep
updraft.rule @Nothing compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %p : f32
}

// -----

// After simplification, arithmetic without elements runs in the prologue, in its own type.
// CHECK-LABEL: updraft.plan @Narrow
// CHECK:         updraft.prologue(%{{.*}}) : (f64) -> f32 {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f64):
// CHECK-NEXT:      %[[F:.*]] = arith.truncf %[[A]] : f64 to f32
// CHECK-NEXT:      %[[S:.*]] = arith.mulf %[[F]], %[[F]] : f32
// CHECK-NEXT:      updraft.yield %[[S]] : f32
updraft.rule @Narrow compute f32 {
  %lr = updraft.hyper "lr" = 1.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %f = arith.truncf %lr : f64 to f32
  %s = arith.mulf %f, %f : f32
  %n = arith.mulf %s, %g : f32
  updraft.next %n : f32
}

// -----

// All rules of a module.
// CHECK: updraft.plan @First
// CHECK: updraft.plan @Second
updraft.rule @First compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %g : f32
}
updraft.rule @Second compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %g : f32
}
