// RUN: updraft-opt %s -convert-updraft-plan-to-loops="vector-bits=256 mask-remainder=false" | FileCheck %s
// RUN: updraft-opt %s -convert-updraft-plan-to-loops="vector-bits=512" | FileCheck %s --check-prefix=MASK
// A block is processed twice: its elements are computed into scratch memory, then coded.

updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %m = updraft.stream "m" : !updraft.stream<!updraft.blocked<linear>>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%g, %m : !updraft.stream<f32>, !updraft.stream<!updraft.blocked<linear>>)
      writes(%m : !updraft.stream<!updraft.blocked<linear>>) {
  ^bb0(%grad: f32, %old: f32):
    %new = arith.addf %grad, %old : f32
    updraft.store %new : f32
  }
}

// CHECK-LABEL: func.func @P_sweep0
// CHECK: %[[VALUES:.*]] = updraft.scratch 512 : <f32>
// CHECK: %[[SIZE:.*]] = arith.constant 256 : i64
// CHECK: scf.for {{.*}} step %[[SIZE]]
// CHECK: updraft.read %{{.*}}[%{{.*}}] : !updraft.elements<f32>, i64 -> f32
// CHECK: scf.for
// CHECK:   %[[CODES:.*]] = updraft.read %{{.*}}[%{{.*}}] : !updraft.elements<i8>, i64 -> vector<8xi8>
// CHECK:   arith.extui %[[CODES]] : vector<8xi8> to vector<8xi32>
// CHECK:   arith.addf
// CHECK:   arith.maxsi
// CHECK:   arith.maxui
// CHECK: vector.reduction <maxsi>
// CHECK: vector.reduction <maxui>
// CHECK: arith.divf
// CHECK: updraft.write %{{.*}}, %{{.*}}[%{{.*}}] : f32, !updraft.elements<f32>, i64
// CHECK: scf.for
// CHECK:   arith.trunci {{.*}} : vector<8xi32> to vector<8xi8>
// CHECK: scf.for
// CHECK:   arith.trunci {{.*}} : i32 to i8

// MASK-LABEL: func.func @P_sweep0
// MASK: updraft.read %{{.*}}[%{{.*}}] mask %{{.*}} : !updraft.elements<i8>, i64, vector<16xi1> -> vector<16xi8>
// MASK: updraft.write %{{.*}}, %{{.*}}[%{{.*}}] mask %{{.*}} : vector<16xi8>, !updraft.elements<i8>, i64, vector<16xi1>
