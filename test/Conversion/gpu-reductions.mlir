// A sweep that reduces: a warp for each leaf, four lanes of the tree in each of its threads.
// RUN: updraft-opt %s --convert-updraft-plan-to-gpu --mlir-use-nameloc-as-prefix | FileCheck %s

// CHECK-LABEL: gpu.func @Norm_sweep0(
// CHECK:         %lane = arith.andi %member, %c31_i32
// CHECK:         %warp = arith.shrui %thread, %c5_i64
// CHECK:         %[[OTHERS:.*]] = arith.muli %block, %c8_i64
// CHECK:         %[[FIRST:.*]] = arith.addi %[[OTHERS]], %warp
// CHECK:         scf.for %chunk = %[[FIRST]] to %count
// CHECK:           %[[WHOLE:.*]] = scf.if %{{.*}} -> (vector<4xf64>) {
// CHECK:             scf.for %i = {{.*}} step %c128_i32 iter_args(%[[SUM:.*]] = %{{.*}}) -> (vector<4xf64>)
// CHECK:               updraft.read %[[GRAD:.*]][%i] alignment 16 : !updraft.elements<f32, 1>, i32 -> vector<4xf32>
// CHECK:               arith.addf %[[SUM]], %{{.*}} : vector<4xf64>
// CHECK:           } else {
// CHECK:               updraft.read %[[GRAD]][%i] : !updraft.elements<f32, 1>, i32 -> vector<4xf32>
//                  The remainder belongs to the lanes of the next thread.
// CHECK:           %[[NEXT:.*]] = arith.andi %{{.*}}, %c31_i32
// CHECK:           arith.cmpi eq, %[[NEXT]], %lane
// CHECK:           %[[ALL:.*]] = scf.if %{{.*}} -> (vector<4xf64>) {
// CHECK:             updraft.read %[[GRAD]][%middle] mask %{{.*}} : !updraft.elements<f32, 1>, i32, vector<4xi1> -> vector<4xf32>
// CHECK:             arith.addf %[[WHOLE]], %{{.*}} : vector<4xf64>
//                  Lanes that are 64 and 32 apart, half of them in each of two threads; 16, 8 and 4; and
//                  this thread's own, 2 and 1 apart, which others have by now.
// CHECK:           %[[LOW:.*]] = vector.extract %[[ALL]][0]
// CHECK:           %[[HIGH:.*]] = vector.extract %[[ALL]][2]
// CHECK:           arith.select %{{.*}}, %[[HIGH]], %[[LOW]] : f64
// CHECK:           arith.select %{{.*}}, %[[LOW]], %[[HIGH]] : f64
// CHECK-COUNT-4:   gpu.shuffle  xor %{{.*}}, %c16_i32{{[_0-9]*}}, %c32_i32
// CHECK-COUNT-2:   gpu.shuffle  xor %{{.*}}, %c8_i32{{[_0-9]*}},
// CHECK-COUNT-2:   gpu.shuffle  xor %{{.*}}, %c4_i32{{[_0-9]*}},
// CHECK-COUNT-2:   gpu.shuffle  xor %{{.*}}, %c2_i32{{[_0-9]*}},
// CHECK-COUNT-2:   gpu.shuffle  xor %{{.*}}, %c1_i32{{[_0-9]*}},
// CHECK-COUNT-2:   gpu.shuffle  xor %{{.*}}, %c16_i32{{[_0-9]*}},
// CHECK-COUNT-2:   gpu.shuffle  xor %{{.*}}, %c8_i32{{[_0-9]*}},
// CHECK-NOT:       gpu.shuffle
// CHECK:           %[[MINE:.*]] = arith.cmpi eq, %lane, %c0_i32
// CHECK:           scf.if %[[MINE]] {
// CHECK:             llvm.store %{{.*}} : f64, !llvm.ptr<1>
updraft.plan @Norm compute f32 {
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %square = updraft.sweep reads(%grad : !updraft.stream<f32>) reduces [#updraft.reduction<sum over tensor>] -> f64 {
  ^bb0(%g: f32):
    %0 = arith.extf %g : f32 to f64
    %1 = arith.mulf %0, %0 : f64
    updraft.store reduce(%1)
  }
  %root = updraft.prologue(%square) : (f64) -> f32 {
  ^bb0(%s: f64):
    %0 = math.sqrt %s : f64
    %1 = arith.truncf %0 : f64 to f32
    updraft.yield %1 : f32
  }
  updraft.sweep scalars(%root : f32) reads(%param, %grad : !updraft.stream<f32>, !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
  ^bb0(%r: f32, %p: f32, %g: f32):
    %0 = arith.divf %g, %r : f32
    %1 = arith.subf %p, %0 : f32
    updraft.store %1 : f32
  }
}
