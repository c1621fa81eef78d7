// RUN: updraft-opt %s | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -emit-bytecode | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -updraft-schedule | FileCheck %s --check-prefix=PLAN

// CHECK-LABEL: updraft.rule @Blocks
// PLAN-LABEL: updraft.plan @Blocks
updraft.rule @Blocks compute f32 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // CHECK: updraft.state "m" stored !updraft.blocked<linear> initial
  // PLAN: updraft.stream "m" : <!updraft.blocked<linear>>
  %m = updraft.state "m" stored !updraft.blocked<linear> initial %zero : f32
  // CHECK: updraft.state "v" stored !updraft.blocked<companded> initial
  // PLAN: updraft.stream "v" : <!updraft.blocked<companded>>
  %v = updraft.state "v" stored !updraft.blocked<companded> initial %zero : f32
  %s = arith.addf %g, %m : f32
  updraft.next %p, %s, %g : f32, f32, f32
}
