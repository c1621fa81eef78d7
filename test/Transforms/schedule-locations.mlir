// RUN: updraft-opt %s -updraft-schedule -mlir-use-nameloc-as-prefix | FileCheck %s
// Names from the source survive in every part of the plan.

// CHECK-LABEL: updraft.plan @R
// CHECK:       %scalars:3 = updraft.prologue(%{{.*}})
// CHECK:         %rate = arith.truncf
// CHECK:         updraft.yield %rate
// CHECK:       updraft.sweep scalars(%scalars#0, %scalars#1, %scalars#2 : f32, f32, f32)
// A rounded scalar without a name gets the name of its operand.
// CHECK-NEXT:  ^bb0(%rate{{.*}}: f32, %lr{{.*}}: f32, %twice{{.*}}: f32, %param{{.*}}: f32, %grad{{.*}}: f32):
// CHECK-NEXT:    %change = arith.mulf %rate{{.*}}, %grad{{.*}} : f32
updraft.rule @R compute f32 {
  %0 = updraft.hyper "lr" = 1.0
  %1 = updraft.param stored f32 : f32
  %2 = updraft.grad stored f32 : f32
  %root = math.sqrt %0 : f64
  %3 = arith.truncf %root : f64 to f32 loc(#rate)
  %4 = arith.truncf %0 : f64 to f32
  %5 = arith.addf %0, %0 : f64 loc(#twice)
  %6 = arith.truncf %5 : f64 to f32
  %7 = arith.mulf %3, %2 : f32 loc(#change)
  %8 = arith.mulf %7, %4 : f32
  %9 = arith.mulf %8, %6 : f32
  %10 = arith.subf %1, %9 : f32
  updraft.next %10 : f32
}
#rate = loc("rate"("r.upd":1:1))
#change = loc("change"("r.upd":2:1))
#twice = loc("twice"("r.upd":3:1))
