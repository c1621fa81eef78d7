// RUN: updraft-opt %s -updraft-plan-pipeline -updraft-expand-math | FileCheck %s
// RUN: updraft-opt %s -updraft-expand-storage -updraft-simplify -updraft-relax -updraft-schedule -updraft-expand-math | FileCheck %s

// CHECK-LABEL: updraft.plan @R
// CHECK:         updraft.prologue
// CHECK-NOT:       arith.mulf
// CHECK:           scf.while
// CHECK-NOT:     updraft.rule
updraft.rule @R compute f32 {
  %beta = updraft.hyper "beta" = 0.9
  %one = arith.constant 1.0 : f64
  %x = arith.mulf %beta, %one : f64
  %t = updraft.step
  %n = arith.fptosi %t : f64 to i64
  %b = math.fpowi %x, %n : f64, i64
  %k = arith.truncf %b : f64 to f32
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %d = arith.mulf %g, %k : f32
  updraft.next %d : f32
}
