// Sweeps over the rows or columns of each batch, and their values.
// RUN: updraft-opt %s --convert-updraft-plan-to-loops="vector-bits=256 mask-remainder=true" \
// RUN:   | FileCheck %s

updraft.plan @R compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %r = updraft.stream "r" : !updraft.stream<f32, row>
  %c = updraft.stream "c" : !updraft.stream<f32, column>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero, %zero : f64, f64
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %b = updraft.sweep over row reads(%r : !updraft.stream<f32, row>)
      reduces [#updraft.reduction<max over batch>] -> !updraft.stream<f64, batch> {
  ^bb0(%x: f32):
    %w = arith.extf %x : f32 to f64
    updraft.store reduce(%w)
  }
  updraft.sweep over column reads(%c, %b : !updraft.stream<f32, column>, !updraft.stream<f64, batch>)
      writes(%c : !updraft.stream<f32, column>) {
  ^bb0(%x: f32, %max: f64):
    %m = arith.truncf %max : f64 to f32
    %y = arith.divf %x, %m : f32
    updraft.store %y : f32
  }
  updraft.sweep reads(%p, %b : !updraft.stream<f32>, !updraft.stream<f64, batch>)
      writes(%p : !updraft.stream<f32>) {
  ^bb0(%x: f32, %max: f64):
    %m = arith.truncf %max : f64 to f32
    %y = arith.addf %x, %m : f32
    updraft.store %y : f32
  }
}

// A range consists of batches. Rows go to lanes, starting with the first lane in each batch.
// CHECK-LABEL: func.func @R_sweep0(
// CHECK:         %[[LANES:.*]] = updraft.scratch 128 : <f64>
// CHECK:         %[[R:.*]] = updraft.locate %{{.*}}[2] : !llvm.ptr -> <f32>
// CHECK:         %[[B:.*]] = updraft.locate %{{.*}}[4] : !llvm.ptr -> <f64>
// CHECK:         %[[ROWS:.*]] = llvm.load %{{.*}} -> i64
// CHECK:         %[[COLUMNS:.*]] = llvm.load %{{.*}} -> i64
// CHECK:         %[[BEGIN:.*]] = llvm.load %{{.*}} -> i64
// CHECK:         %[[END:.*]] = llvm.load %{{.*}} -> i64
// CHECK:         %[[FEW:.*]] = arith.cmpi ule, %[[ROWS]],
// CHECK:         scf.for %[[BATCH:.*]] = %[[BEGIN]] to %[[END]]
// CHECK:           %[[FIRST:.*]] = arith.muli %[[BATCH]], %[[ROWS]] : i64
// CHECK:           scf.for %[[I:.*]] =
// CHECK:             updraft.read %[[R]][%[[FIRST]], %[[I]]] : !updraft.elements<f32>, i64, i64 -> vector<8xf32>
// CHECK:             arith.andi %[[I]],
// CHECK:             arith.maximumf %{{.*}} : vector<8xf64>
// CHECK:           %[[TOTAL:.*]] = func.call @updraft.take.max(%[[LANES]], %[[FEW]])
// CHECK:           updraft.write %[[TOTAL]], %[[B]][%[[BATCH]]] : f64, !updraft.elements<f64>, i64

// A batch's value is loaded once.
// CHECK-LABEL: func.func @R_sweep1(
// CHECK:         %[[COLUMNS:.*]] = llvm.load %{{.*}} -> i64
// CHECK:         scf.for %[[BATCH:.*]] =
// CHECK:           %[[VALUE:.*]] = updraft.read %{{.*}}[%[[BATCH]]] : !updraft.elements<f64>, i64 -> f64
// CHECK:           %[[VALUES:.*]] = vector.broadcast %[[VALUE]] : f64 to vector<8xf64>
// CHECK:           arith.muli %[[BATCH]], %{{.*}} : i64
// CHECK:           scf.for
// CHECK:             arith.truncf %[[VALUES]]

// The same holds for the elements of a block of rows.
// CHECK-LABEL: func.func @R_sweep2(
// CHECK:           %[[PER_BATCH:.*]] = arith.divui
// CHECK:           %[[BATCH:.*]] = arith.divui %{{.*}}, %[[PER_BATCH]] : i64
// CHECK:           updraft.read %{{.*}}[%[[BATCH]]] : !updraft.elements<f64>, i64 -> f64
// CHECK:           scf.for
