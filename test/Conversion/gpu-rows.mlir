// Sweeps of a plan for matrices: a warp for each block of 64 rows, or for each batch.
// RUN: updraft-opt %s --convert-updraft-plan-to-gpu --mlir-use-nameloc-as-prefix | FileCheck %s

// CHECK-LABEL: gpu.func @R_sweep0(
// CHECK-SAME:      nvvm.minctasm = 2 : i32
// CHECK-SAME:      updraft.loop = 1 : i64, updraft.partial_count = 1 : i64
// CHECK-SAME:      updraft.stream_extents = array<i64: 0, 0, 1, 2, 1, 3>
// CHECK:         %lane = arith.andi %member
// CHECK:         scf.for %chunk
// CHECK:           %[[ROW_SUMS:.*]] = updraft.locate %[[STREAMS:.*]][2] : !llvm.ptr<1> -> <f64, 1>
// CHECK:           %[[COLUMN_SUMS:.*]] = updraft.locate %[[STREAMS]][3] : !llvm.ptr<1> -> <f64, 1>
// CHECK:           %rows_{{[0-9]+}} = llvm.load
// CHECK:           %columns = llvm.load
// CHECK:           %batch = arith.divui %begin
// CHECK:           %row_end = arith.minsi
// CHECK:           %length = arith.trunci %columns : i64 to i32
//                  The sums of the block's columns are cleared, each by the thread that adds to it.
// CHECK:           %[[CLEARED:.*]] = updraft.shift %[[COLUMN_SUMS]][%[[START:.*]]] : <f64, 1>, i64
// CHECK:           scf.for %i = {{.*}} to %middle step %c128_i32
// CHECK:             updraft.write %{{.*}}, %[[CLEARED]][%i] : vector<4xf64>, !updraft.elements<f64, 1>, i32
// CHECK:           scf.for %r = {{.*}} to %row_end step %c1_i64{{[_0-9]*}} iter_args(%[[TENSOR:.*]] = %{{.*}}) -> (vector<4xf64>)
// CHECK:             %[[SUMS:.*]] = updraft.shift %[[COLUMN_SUMS]][%[[START]]] : <f64, 1>, i64
//                    One reduction of the row and one of the tensor.
// CHECK:             scf.for %i = {{.*}} iter_args(%[[ROW:.*]] = %{{.*}}, %{{.*}} = %[[TENSOR]]) -> (vector<4xf64>, vector<4xf64>)
// CHECK:               arith.addf %[[ROW]]
// CHECK:               %[[BEFORE:.*]] = updraft.read %[[SUMS]][%i] : !updraft.elements<f64, 1>, i32 -> vector<4xf64>
// CHECK:               %[[AFTER:.*]] = arith.addf %[[BEFORE]]
// CHECK:               updraft.write %[[AFTER]], %[[SUMS]][%i] : vector<4xf64>, !updraft.elements<f64, 1>, i32
//                    The total of the row.
// CHECK:             gpu.shuffle
// CHECK:             updraft.write %{{.*}}, %[[ROW_SUMS]][%{{.*}}] : f64, !updraft.elements<f64, 1>, i64
// CHECK:             scf.yield %{{.*}} : vector<4xf64>
//                  The total of the tensor, for the block.
// CHECK:           gpu.shuffle
// CHECK:           llvm.store %{{.*}} : f64, !llvm.ptr<1>

// The rows of all batches in order, like elements.
// CHECK-LABEL: gpu.func @R_sweep1(
// CHECK-SAME:      updraft.loop = 0 : i64
// CHECK:         scf.for %i = {{.*}} to %middle
// CHECK:           updraft.read %{{.*}}[%i] alignment 16 : !updraft.elements<f64, 1>, i32 -> vector<2xf64>

// A value of each row, and of its columns.
// CHECK-LABEL: gpu.func @R_sweep2(
// CHECK-SAME:      updraft.loop = 1 : i64, updraft.partial_count = 0 : i64
// CHECK:         scf.for %r
// CHECK:           %[[ROW:.*]] = updraft.read %{{.*}}[%{{.*}}] : !updraft.elements<f32, 1>, i64 -> f32
// CHECK:           vector.broadcast %[[ROW]] : f32 to vector<4xf32>
// CHECK:           scf.for %i
// CHECK:             updraft.read %{{.*}}[%i] alignment 16 : !updraft.elements<f32, 1>, i32 -> vector<4xf32>
// CHECK:             updraft.read %{{.*}}[%i] alignment 16 : !updraft.elements<f64, 1>, i32 -> vector<4xf64>
// CHECK-NOT:     gpu.shuffle

// The rows of a batch, reduced.
// CHECK-LABEL: gpu.func @R_sweep3(
// CHECK-SAME:      updraft.loop = 2 : i64
// CHECK:         %[[TOTALS:.*]] = updraft.locate %{{.*}}[5] : !llvm.ptr<1> -> <f64, 1>
// CHECK:         %[[ROWS:.*]] = arith.muli %begin, %rows_{{[0-9]+}}
// CHECK:         %length = arith.trunci %rows_{{[0-9]+}} : i64 to i32
// CHECK:         scf.for %i = {{.*}} iter_args
// CHECK:         gpu.shuffle
// CHECK:         updraft.write %{{.*}}, %[[TOTALS]][%begin] : f64, !updraft.elements<f64, 1>, i64
updraft.plan @R compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %r:3 = updraft.sweep reads(%g : !updraft.stream<f32>)
      reduces [#updraft.reduction<sum over row>, #updraft.reduction<sum over column>,
               #updraft.reduction<sum over tensor>]
      -> !updraft.stream<f64, row>, !updraft.stream<f64, column>, f64 {
  ^bb0(%x: f32):
    %w = arith.extf %x : f32 to f64
    updraft.store reduce(%w, %w, %w)
  }
  %t = updraft.sweep over row reads(%r#0 : !updraft.stream<f64, row>) -> !updraft.stream<f32, row> {
  ^bb0(%sum: f64):
    %0 = arith.truncf %sum : f64 to f32
    updraft.store make(%0 : f32)
  }
  updraft.sweep reads(%p, %t, %r#1 : !updraft.stream<f32>, !updraft.stream<f32, row>,
                     !updraft.stream<f64, column>)
      writes(%p : !updraft.stream<f32>) {
  ^bb0(%x: f32, %row: f32, %column: f64):
    %0 = arith.truncf %column : f64 to f32
    %1 = arith.mulf %row, %0 : f32
    %2 = arith.subf %x, %1 : f32
    updraft.store %2 : f32
  }
  %b = updraft.sweep over row reads(%r#0 : !updraft.stream<f64, row>)
      reduces [#updraft.reduction<sum over batch>] -> !updraft.stream<f64, batch> {
  ^bb0(%sum: f64):
    updraft.store reduce(%sum)
  }
}
