// Probes follow the scalar states in `next_scalars`. Only the plan without probes has the functions
// of the rule.
// RUN: updraft-opt %s --convert-updraft-plan-to-loops | FileCheck %s

// CHECK-LABEL: func.func @R_initial(
// CHECK-LABEL: func.func @R_validate(
// CHECK-LABEL: func.func @R_prologue0(
updraft.plan @R compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %mu = updraft.scalar "mu" over tensor stored f64
  updraft.initial() {
    %one = arith.constant 1.0 : f64
    updraft.yield %one : f64
  }
  updraft.validate() messages [] { updraft.yield }
  %a = updraft.prologue(%mu) : (f64) -> f64 {
  ^bb0(%x: f64):
    updraft.yield %x : f64
  }
  updraft.commit scalars(%a)
}

// CHECK-NOT:   func.func @R_probed_initial(
// CHECK-NOT:   func.func @R_probed_validate(
// CHECK-LABEL: func.func @R_probed_prologue0(
// CHECK-SAME:      %[[NEXT:[a-z0-9_]+]]: !llvm.ptr)
// CHECK:         %[[MU:.*]] = llvm.getelementptr inbounds %[[NEXT]][0]
// CHECK:         llvm.store %{{.*}}, %[[MU]] {alignment = 8 : i64} : f64
// CHECK:         %[[SIZE:.*]] = llvm.getelementptr inbounds %[[NEXT]][1]
// CHECK:         llvm.store %{{.*}}, %[[SIZE]] {alignment = 8 : i64} : f64
updraft.plan @R_probed compute f32 {
  %n = updraft.size over tensor
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %mu = updraft.scalar "mu" over tensor stored f64
  updraft.initial() {
    %one = arith.constant 1.0 : f64
    updraft.yield %one : f64
  }
  updraft.validate() messages [] { updraft.yield }
  %a:2 = updraft.prologue(%mu, %n) : (f64, f64) -> (f64, f64) {
  ^bb0(%x: f64, %y: f64):
    updraft.yield %x, %y : f64, f64
  }
  updraft.commit scalars(%a#0)
  updraft.probe "size" = %a#1
}
