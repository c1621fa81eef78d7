// i8 in memory is a small integer as a value of the compute type.
// RUN: updraft-opt %s --convert-updraft-plan-to-loops="vector-bits=128" | FileCheck %s

updraft.plan @Bytes compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %c = updraft.stream "c" : !updraft.stream<i8>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%c : !updraft.stream<i8>) writes(%c : !updraft.stream<i8>) {
  ^bb0(%x: f32):
    %y = arith.negf %x : f32
    updraft.store %y : f32
  }
}

// CHECK-LABEL: func.func @Bytes_sweep0
// CHECK:         scf.for
// CHECK:           %[[X:.*]] = updraft.read %{{.*}}[%{{.*}}] : !updraft.elements<i8>, i64 -> vector<4xi8>
// CHECK:           %[[F:.*]] = arith.sitofp %[[X]] : vector<4xi8> to vector<4xf32>
// CHECK:           %[[Y:.*]] = arith.negf %[[F]] : vector<4xf32>
// CHECK:           arith.cmpf uno, %[[Y]]
// CHECK:           %[[LOW:.*]] = arith.cmpf olt
// CHECK:           arith.select %[[LOW]]
// CHECK:           %[[HIGH:.*]] = arith.cmpf ogt
// CHECK:           %[[V:.*]] = arith.select %[[HIGH]]
// CHECK:           %[[R:.*]] = math.roundeven %[[V]] : vector<4xf32>
// CHECK:           %[[I:.*]] = arith.fptosi %[[R]] : vector<4xf32> to vector<4xi32>
// CHECK:           %[[B:.*]] = arith.trunci %[[I]] : vector<4xi32> to vector<4xi8>
// CHECK:           updraft.write %[[B]], %{{.*}}[%{{.*}}] : vector<4xi8>, !updraft.elements<i8>, i64
