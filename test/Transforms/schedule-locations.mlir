// RUN: updraft-opt %s -updraft-schedule -mlir-use-nameloc-as-prefix | FileCheck %s
// Names from the source survive in every part of the plan.

// CHECK-LABEL: updraft.plan @R
// CHECK:       updraft.prologue(%{{.*}})
// CHECK:         %rate = arith.truncf
// CHECK-NEXT:    updraft.yield %rate
// CHECK:       updraft.pass
// CHECK-NEXT:  ^bb0(%rate{{.*}}: f32, %param{{.*}}: f32, %grad{{.*}}: f32):
// CHECK-NEXT:    %change = arith.mulf %rate{{.*}}, %grad{{.*}} : f32
updraft.rule @R compute f32 {
  %0 = updraft.hyper "lr" = 1.0
  %1 = updraft.param stored f32 : f32
  %2 = updraft.grad stored f32 : f32
  %3 = arith.truncf %0 : f64 to f32 loc(#rate)
  %4 = arith.mulf %3, %2 : f32 loc(#change)
  %5 = arith.subf %1, %4 : f32
  updraft.next %5 : f32
}
#rate = loc("rate"("r.upd":1:1))
#change = loc("change"("r.upd":2:1))
