// f32 and f64 in memory: an extension or a truncation if the compute type is the other one.
// RUN: updraft-opt %s --convert-updraft-plan-to-loops="vector-bits=128" | FileCheck %s

updraft.plan @Same compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%g : !updraft.stream<f32>) writes(%p : !updraft.stream<f32>) {
  ^bb0(%x: f32):
    updraft.store %x : f32
  }
}

// CHECK-LABEL: func.func @Same_sweep0
// CHECK:         scf.for
// CHECK:           %[[X:.*]] = updraft.read %{{.*}}[%{{.*}}] : !updraft.elements<f32>, i64 -> vector<4xf32>
// CHECK-NEXT:      updraft.write %[[X]], %{{.*}}[%{{.*}}] : vector<4xf32>, !updraft.elements<f32>, i64

updraft.plan @Wide compute f64 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%g : !updraft.stream<f32>) writes(%p : !updraft.stream<f32>) {
  ^bb0(%x: f64):
    updraft.store %x : f64
  }
}

// CHECK-LABEL: func.func @Wide_sweep0
// CHECK:         scf.for
// CHECK:           %[[X:.*]] = updraft.read %{{.*}}[%{{.*}}] : !updraft.elements<f32>, i64 -> vector<2xf32>
// CHECK-NEXT:      %[[WIDE:.*]] = arith.extf %[[X]] : vector<2xf32> to vector<2xf64>
// CHECK-NEXT:      %[[NARROW:.*]] = arith.truncf %[[WIDE]] : vector<2xf64> to vector<2xf32>
// CHECK-NEXT:      updraft.write %[[NARROW]], %{{.*}}[%{{.*}}] : vector<2xf32>, !updraft.elements<f32>, i64

updraft.plan @Narrow compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f64>
  %g = updraft.stream "grad" : !updraft.stream<f64>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%g : !updraft.stream<f64>) writes(%p : !updraft.stream<f64>) {
  ^bb0(%x: f32):
    updraft.store %x : f32
  }
}

// CHECK-LABEL: func.func @Narrow_sweep0
// CHECK:         scf.for
// CHECK:           %[[X:.*]] = updraft.read %{{.*}}[%{{.*}}] : !updraft.elements<f64>, i64 -> vector<4xf64>
// CHECK-NEXT:      %[[NARROW:.*]] = arith.truncf %[[X]] : vector<4xf64> to vector<4xf32>
// CHECK-NEXT:      %[[WIDE:.*]] = arith.extf %[[NARROW]] : vector<4xf32> to vector<4xf64>
// CHECK-NEXT:      updraft.write %[[WIDE]], %{{.*}}[%{{.*}}] : vector<4xf64>, !updraft.elements<f64>, i64
