// NaNs of a scalar lose their lower half only for a sweep that rounds pairs of elements to bf16, as
// on CPUs in sweeps without elementary functions.
// RUN: updraft-opt %s --convert-updraft-plan-to-loops | FileCheck %s
// RUN: updraft-opt %s --convert-updraft-plan-to-gpu | FileCheck %s --check-prefix=GPU

// CHECK-LABEL: func.func @Pairs_prologue0(
// CHECK:         %[[NAN:.*]] = arith.cmpf uno, %[[LR:.*]], %[[LR]] : f32
// CHECK:         %[[BITS:.*]] = arith.select %[[NAN]],
// CHECK:         %[[SHORT:.*]] = arith.bitcast %[[BITS]] : i32 to f32
// CHECK:         llvm.store %[[SHORT]],
// CHECK:         return

// GPU-NOT: arith.cmpf uno
updraft.plan @Pairs compute f32 {
  %lr = updraft.hyper "lr" = 1.0e-1
  %p = updraft.stream "param" : !updraft.stream<bf16>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %k = updraft.prologue(%lr) : (f64) -> f32 {
  ^bb0(%l: f64):
    %s = arith.truncf %l : f64 to f32
    updraft.yield %s : f32
  }
  updraft.sweep scalars(%k : f32) reads(%g : !updraft.stream<bf16>) writes(%p : !updraft.stream<bf16>) {
  ^bb0(%s: f32, %e: f32):
    %0 = arith.mulf %s, %e : f32
    updraft.store %0 : f32
  }
}

// CHECK-LABEL: func.func @Elements_prologue0(
// CHECK-NOT:     arith.cmpf uno
// CHECK:         return
updraft.plan @Elements compute f32 {
  %lr = updraft.hyper "lr" = 1.0e-1
  %p = updraft.stream "param" : !updraft.stream<bf16>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %k = updraft.prologue(%lr) : (f64) -> f32 {
  ^bb0(%l: f64):
    %s = arith.truncf %l : f64 to f32
    updraft.yield %s : f32
  }
  updraft.sweep scalars(%k : f32) reads(%g : !updraft.stream<bf16>) writes(%p : !updraft.stream<bf16>) {
  ^bb0(%s: f32, %e: f32):
    %0 = math.exp %e : f32
    %1 = arith.mulf %s, %0 : f32
    updraft.store %1 : f32
  }
}
