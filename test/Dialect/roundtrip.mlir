// RUN: updraft-opt %s | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -mlir-print-op-generic | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -emit-bytecode | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -updraft-schedule -emit-bytecode | updraft-opt -o %t.bytecode.mlir
// RUN: updraft-opt %s -updraft-schedule -o %t.text.mlir
// RUN: diff %t.text.mlir %t.bytecode.mlir

// Every operation and type, in the custom form, the generic form and bytecode. Values keep the
// names that they have in the source.

// CHECK-LABEL: updraft.rule @Rule compute f32 attributes {origin = "test"} {
// CHECK:         %lr = updraft.hyper "lr" = 1.000000e-03
// CHECK:         %step = updraft.step
// CHECK:         %first = updraft.first
// CHECK:         %param = updraft.param stored bf16 : f32
// CHECK:         %grad = updraft.grad stored f16 : f32
// CHECK:         updraft.require %{{.*}}, "Invalid learning rate: {lr}, not {{[{][{]1[}][}]}}"
// CHECK:         %exp_avg = updraft.state "exp_avg" stored f32 initial %lr from_step : f32
// CHECK:         updraft.next %param, %exp_avg : f32, f32
updraft.rule @Rule compute f32 attributes {origin = "test"} {
  %0 = updraft.hyper "lr" = 1.0e-3
  %1 = updraft.step
  %2 = updraft.first
  %3 = updraft.param stored bf16 : f32
  %4 = updraft.grad stored f16 : f32
  %5 = arith.cmpf oge, %0, %0 : f64
  updraft.require %5, "Invalid learning rate: {lr}, not {{1}}"
  %6 = updraft.state "exp_avg" stored f32 initial %0 from_step : f32
  updraft.next %3, %6 : f32, f32
}

// CHECK-LABEL: updraft.plan @Plan compute f64 {
// CHECK:         %param = updraft.stream "param" : <f64>
// CHECK:         %grad = updraft.stream "grad" : <bf16>
// CHECK:         %m = updraft.stream "m" from_step : <f16>
// CHECK:         updraft.initial(%lr) {
// CHECK:         ^bb0(%lr{{.*}}: f64):
// CHECK:           updraft.yield %lr{{.*}} : f64
// CHECK:         updraft.validate() messages ["never"] {
// CHECK:           updraft.yield %{{.*}} : i1
// CHECK:         %[[K:.*]]:2 = updraft.prologue(%lr, %first) : (f64, i1) -> (f64, i1) {
// CHECK:         ^bb0(%lr{{.*}}: f64, %first{{.*}}: i1):
// CHECK:         updraft.sweep scalars(%[[K]]#0, %[[K]]#1 : f64, i1)
// CHECK-SAME:      reads(%grad, %m : !updraft.stream<bf16>, !updraft.stream<f16>)
// CHECK-SAME:      writes(%param : !updraft.stream<f64>) {
// CHECK:         ^bb0(%{{.*}}: f64, %{{.*}}: i1, %grad{{.*}}: f64, %m{{.*}}: f64):
// CHECK:           updraft.store %grad{{.*}} : f64
// CHECK:         updraft.sweep writes(%m : !updraft.stream<f16>) {
updraft.plan @Plan compute f64 {
  %0 = updraft.hyper "lr" = 1.0
  %1 = updraft.first
  %2 = updraft.stream "param" : !updraft.stream<f64>
  %3 = updraft.stream "grad" : <bf16>
  %4 = updraft.stream "m" from_step : !updraft.stream<f16>
  updraft.initial(%0) {
  ^bb0(%a: f64):
    updraft.yield %a : f64
  }
  updraft.validate() messages ["never"] {
    %true = arith.constant true
    updraft.yield %true : i1
  }
  %5:2 = updraft.prologue(%0, %1) : (f64, i1) -> (f64, i1) {
  ^bb0(%a: f64, %b: i1):
    updraft.yield %a, %b : f64, i1
  }
  updraft.sweep scalars(%5#0, %5#1 : f64, i1)
      reads(%3, %4 : !updraft.stream<bf16>, !updraft.stream<f16>)
      writes(%2 : !updraft.stream<f64>) {
  ^bb0(%a: f64, %b: i1, %c: f64, %d: f64):
    updraft.store %c : f64
  }
  updraft.sweep writes(%4 : !updraft.stream<f16>) {
    %one = arith.constant 1.0 : f64
    updraft.store %one : f64
  }
}
