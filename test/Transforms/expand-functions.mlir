// RUN: updraft-opt %s -updraft-expand-math -split-input-file | FileCheck %s
// RUN: updraft-opt %s -updraft-schedule -updraft-expand-math -split-input-file | FileCheck %s --check-prefix=PLAN

// Elementary functions become arithmetic in rules, on elements and on scalars.
// CHECK-LABEL: updraft.rule @Exp
// CHECK-NOT:     math.exp
// CHECK-DAG:     %[[SHIFT:.*]] = arith.constant 0x4B400000 : f32
// CHECK-DAG:     %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK:         %[[SHIFTED:.*]] = math.fma %[[X:.*]], %[[LOG2E]], %[[SHIFT]] : f32
// CHECK:         %[[N:.*]] = arith.subf %[[SHIFTED]], %[[SHIFT]] : f32
// CHECK:         arith.bitcast %[[SHIFTED]] : f32 to i32
// CHECK-NOT:     math.exp
// CHECK:         arith.constant 1.44269504088896{{.*}} : f64
// CHECK-NOT:     math.exp
// CHECK:         updraft.next

// In a plan, only those in sweeps are expanded; updraft-outline-math expands the others.
// PLAN-LABEL: updraft.plan @Exp
// PLAN:         updraft.prologue
// PLAN-NEXT:    ^bb0(%[[LR:.*]]: f64):
// PLAN-NEXT:      math.exp %[[LR]] : f64
// PLAN-NOT:     math.exp
// PLAN:         updraft.sweep
// PLAN-NOT:     math.exp
// PLAN:         arith.bitcast {{.*}} : f32 to i32
// PLAN-NOT:     math.exp
// PLAN:         updraft.store
updraft.rule @Exp compute f32 {
  %lr = updraft.hyper "lr" = 1.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %e = math.exp %g : f32
  %h = math.exp %lr : f64
  %k = arith.truncf %h : f64 to f32
  %n = arith.mulf %e, %k : f32
  updraft.next %n : f32
}

// -----

// CHECK-LABEL: updraft.rule @Others
// CHECK-NOT:     math.log
// CHECK-NOT:     math.tanh
// CHECK-NOT:     math.powf
// CHECK:         arith.extf {{.*}} : f32 to f64
// CHECK-NOT:     math.powf
// CHECK:         arith.truncf {{.*}} : f64 to f32
// CHECK-NOT:     math.powf
// CHECK:         updraft.next
updraft.rule @Others compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %l = math.log %g : f32
  %t = math.tanh %l : f32
  %n = math.powf %t, %p : f32
  updraft.next %n : f32
}

// -----

// Other functions don't change; the frontend never generates them in rules.
// CHECK-LABEL: updraft.rule @Sine
// CHECK:         math.sin
updraft.rule @Sine compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = math.sin %g : f32
  updraft.next %n : f32
}

// -----

// A sweep with more than 32 of them keeps all for updraft-outline-math.
// PLAN-LABEL: updraft.plan @Many
// PLAN:         updraft.sweep
// PLAN-COUNT-33:  math.exp
// PLAN:         updraft.store
updraft.rule @Many compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %e0 = math.exp %g : f32
  %e1 = math.exp %e0 : f32
  %e2 = math.exp %e1 : f32
  %e3 = math.exp %e2 : f32
  %e4 = math.exp %e3 : f32
  %e5 = math.exp %e4 : f32
  %e6 = math.exp %e5 : f32
  %e7 = math.exp %e6 : f32
  %e8 = math.exp %e7 : f32
  %e9 = math.exp %e8 : f32
  %e10 = math.exp %e9 : f32
  %e11 = math.exp %e10 : f32
  %e12 = math.exp %e11 : f32
  %e13 = math.exp %e12 : f32
  %e14 = math.exp %e13 : f32
  %e15 = math.exp %e14 : f32
  %e16 = math.exp %e15 : f32
  %e17 = math.exp %e16 : f32
  %e18 = math.exp %e17 : f32
  %e19 = math.exp %e18 : f32
  %e20 = math.exp %e19 : f32
  %e21 = math.exp %e20 : f32
  %e22 = math.exp %e21 : f32
  %e23 = math.exp %e22 : f32
  %e24 = math.exp %e23 : f32
  %e25 = math.exp %e24 : f32
  %e26 = math.exp %e25 : f32
  %e27 = math.exp %e26 : f32
  %e28 = math.exp %e27 : f32
  %e29 = math.exp %e28 : f32
  %e30 = math.exp %e29 : f32
  %e31 = math.exp %e30 : f32
  %e32 = math.exp %e31 : f32
  updraft.next %e32 : f32
}
