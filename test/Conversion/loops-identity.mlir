// An identity in a sweep over square matrices: the row of the batch against the columns of a vector.
// RUN: updraft-opt %s --convert-updraft-plan-to-loops="vector-bits=256 mask-remainder=true" \
// RUN:   | FileCheck %s

updraft.plan @R compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %l = updraft.stream "l" : !updraft.stream<f32, rows_by_rows>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep over rows_by_rows reads(%l : !updraft.stream<f32, rows_by_rows>)
      writes(%l : !updraft.stream<f32, rows_by_rows>) {
  ^bb0(%x: f32):
    %i = updraft.identity over rows_by_rows : f32
    %0 = arith.addf %x, %i : f32
    updraft.store %0 : f32
  }
}

// CHECK-LABEL: func.func @R_sweep0(
// CHECK:         scf.for %[[BLOCK:.*]] = %{{.*}} to
// CHECK:         arith.minsi
// CHECK:         scf.for %[[ROW:.*]] = %{{.*}} to
// CHECK:           scf.for %[[COLUMN:.*]] = %{{.*}} to
// CHECK:             %[[X:.*]] = updraft.read
// CHECK:             %[[DISTANCE:.*]] = arith.subi %[[ROW]], %[[COLUMN]] : i64
// CHECK:             %[[ALL:.*]] = vector.broadcast %[[DISTANCE]] : i64 to vector<8xi64>
// CHECK:             %[[LANE:.*]] = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
// CHECK:             %[[ON:.*]] = arith.cmpi eq, %[[ALL]], %[[LANE]] : vector<8xi64>
// CHECK:             %[[I:.*]] = arith.select %[[ON]], %{{.*}}, %{{.*}} : vector<8xi1>, vector<8xf32>
// CHECK:             %[[SUM:.*]] = arith.addf %[[X]], %[[I]] : vector<8xf32>
