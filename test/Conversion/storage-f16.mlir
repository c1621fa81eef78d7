// f16 in memory is i16; the processor converts it.
// RUN: updraft-opt %s --convert-updraft-plan-to-loops="vector-bits=128" | FileCheck %s

updraft.plan @Copy compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f16>
  %g = updraft.stream "grad" : !updraft.stream<f16>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%g : !updraft.stream<f16>) writes(%p : !updraft.stream<f16>) {
  ^bb0(%x: f32):
    updraft.store %x : f32
  }
}

// CHECK-LABEL: func.func @Copy_sweep0
// CHECK:         scf.for
// CHECK:           %[[X:.*]] = updraft.read %{{.*}}[%{{.*}}] : !updraft.elements<i16>, i64 -> vector<4xi16>
// CHECK-NEXT:      %[[HALF:.*]] = arith.bitcast %[[X]] : vector<4xi16> to vector<4xf16>
// CHECK-NEXT:      %[[WIDE:.*]] = arith.extf %[[HALF]] : vector<4xf16> to vector<4xf32>
// CHECK-NEXT:      %[[NARROW:.*]] = arith.truncf %[[WIDE]] : vector<4xf32> to vector<4xf16>
// CHECK-NEXT:      %[[STORED:.*]] = arith.bitcast %[[NARROW]] : vector<4xf16> to vector<4xi16>
// CHECK:           updraft.write %[[STORED]], %{{.*}}[%{{.*}}] : vector<4xi16>, !updraft.elements<i16>, i64

updraft.plan @ToAndFromF64 compute f64 {
  %p = updraft.stream "param" : !updraft.stream<f16>
  %g = updraft.stream "grad" : !updraft.stream<f16>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%g : !updraft.stream<f16>) writes(%p : !updraft.stream<f16>) {
  ^bb0(%x: f64):
    updraft.store %x : f64
  }
}

// CHECK-LABEL: func.func @ToAndFromF64_sweep0
// CHECK:         scf.for
// CHECK:           %[[SINGLE:.*]] = arith.extf %{{.*}} : vector<2xf16> to vector<2xf32>
// CHECK-NEXT:      %[[WIDE:.*]] = arith.extf %[[SINGLE]] : vector<2xf32> to vector<2xf64>
// CHECK:           %[[NEAREST:.*]] = arith.truncf %[[WIDE]] : vector<2xf64> to vector<2xf32>
// CHECK:           %[[ODD:.*]] = arith.bitcast %{{.*}} : vector<2xi32> to vector<2xf32>
// CHECK:           arith.truncf %[[ODD]] : vector<2xf32> to vector<2xf16>
// CHECK-NOT:       arith.truncf %{{.*}} : vector<2xf64> to vector<2xf16>
// CHECK:           updraft.write %{{.*}}, %{{.*}}[%{{.*}}] : vector<2xi16>, !updraft.elements<i16>, i64
