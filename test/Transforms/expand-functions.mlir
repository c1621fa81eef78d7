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

// In a plan those of passes do; updraft-outline-math has the others.
// PLAN-LABEL: updraft.plan @Exp
// PLAN:         updraft.prologue
// PLAN-NEXT:    ^bb0(%[[LR:.*]]: f64):
// PLAN-NEXT:      math.exp %[[LR]] : f64
// PLAN-NOT:     math.exp
// PLAN:         updraft.pass
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

// Other functions stay: no rule that the frontend makes has them.
// CHECK-LABEL: updraft.rule @Sine
// CHECK:         math.sin
updraft.rule @Sine compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = math.sin %g : f32
  updraft.next %n : f32
}
