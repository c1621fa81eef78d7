// Sweeps of a plan for matrices: blocks of 64 rows, their rows, and the columns of a row.
// RUN: updraft-opt %s --convert-updraft-plan-to-loops="vector-bits=256 mask-remainder=true" \
// RUN:   | FileCheck %s

updraft.plan @R compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
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
}

// A plan for matrices accompanies one for vectors, which has the functions of both.
// CHECK-LABEL: func.func @R_initial(
// CHECK-LABEL: func.func @R_validate(
// CHECK-LABEL: func.func @R_prologue0
//
// There are five streams; the third and fourth are the sums of rows and columns. A site has five
// fields; the last two are rows and columns.
// CHECK-LABEL: func.func @R_sweep0(
// CHECK:         %[[ROW_LANES:.*]] = updraft.scratch 128 : <f64>
// CHECK:         %[[LANES:.*]] = updraft.scratch 128 : <f64>
// CHECK:         scf.for
// CHECK:         %[[FIVE:.*]] = arith.constant 5 : i64
// CHECK:         arith.muli %{{.*}}, %[[FIVE]] : i64
// CHECK:         %[[GRAD:.*]] = updraft.locate %[[STREAMS:.*]][1] : !llvm.ptr -> <f32>
// CHECK:         %[[ROW_SUMS:.*]] = updraft.locate %[[STREAMS]][2] : !llvm.ptr -> <f64>
// CHECK:         %[[COLUMN_SUMS:.*]] = updraft.locate %[[STREAMS]][3] : !llvm.ptr -> <f64>
// CHECK:         %[[ROWS_AT:.*]] = llvm.getelementptr inbounds %[[SITE:.*]][3] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK:         %[[ROWS:.*]] = llvm.load %[[ROWS_AT]]
// CHECK:         %[[COLUMNS_AT:.*]] = llvm.getelementptr inbounds %[[SITE]][4]
// CHECK:         %[[COLUMNS:.*]] = llvm.load %[[COLUMNS_AT]]
//
// CHECK:         %[[FEW:.*]] = arith.cmpi ule, %[[COLUMNS]],
// CHECK:         scf.for %[[BLOCK:.*]] = %{{.*}} iter_args
// CHECK:           %[[BLOCK_ROWS:.*]] = arith.constant 64 : i64
// CHECK:           %[[ROUNDED:.*]] = arith.addi %[[ROWS]], %{{.*}} : i64
// CHECK:           %[[PER_BATCH:.*]] = arith.divui %[[ROUNDED]], %[[BLOCK_ROWS]] : i64
// CHECK:           %[[BATCH:.*]] = arith.divui %[[BLOCK]], %[[PER_BATCH]] : i64
// CHECK:           %[[FIRST_ROW:.*]] = arith.muli %[[BATCH]], %[[ROWS]] : i64
// CHECK:           %[[SUMS_START:.*]] = arith.muli %[[BLOCK]], %[[COLUMNS]] : i64
// CHECK:           scf.for %[[C:.*]] = %{{.*}} to %[[COLUMNS]]
// CHECK:             updraft.write %{{.*}}, %[[COLUMN_SUMS]][%[[SUMS_START]], %[[C]]] : f64, !updraft.elements<f64>, i64, i64
// CHECK:           scf.for %[[R:.*]] = %{{.*}} to %{{.*}} step
// CHECK:             %[[ROW:.*]] = arith.addi %[[FIRST_ROW]], %[[R]] : i64
// CHECK:             %[[START:.*]] = arith.muli %[[ROW]], %[[COLUMNS]] : i64
// CHECK:             scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
// CHECK:               updraft.read %[[GRAD]][%[[START]], %[[I]]] : !updraft.elements<f32>, i64, i64 -> vector<8xf32>
// CHECK:               %[[ROW_LANE:.*]] = arith.andi %[[I]], %{{.*}} : i64
// CHECK:               updraft.read %[[ROW_LANES]][%[[ROW_LANE]]] : !updraft.elements<f64>, i64 -> vector<8xf64>
// CHECK:               updraft.read %[[COLUMN_SUMS]][%[[SUMS_START]], %[[I]]] : !updraft.elements<f64>, i64, i64 -> vector<8xf64>
// CHECK:               updraft.write %{{.*}}, %[[COLUMN_SUMS]][%[[SUMS_START]], %[[I]]] : vector<8xf64>, !updraft.elements<f64>, i64, i64
// CHECK:               %[[LANE:.*]] = arith.andi %[[I]], %{{.*}} : i64
// CHECK:               updraft.read %[[LANES]][%[[LANE]]] : !updraft.elements<f64>, i64 -> vector<8xf64>
//
// Elements after the last columns belong to the next block.
// CHECK:             updraft.write %{{.*}}, %[[COLUMN_SUMS]][%[[SUMS_START]], %{{.*}}] mask %{{.*}} : vector<8xf64>, !updraft.elements<f64>, i64, i64, vector<8xi1>
// CHECK:             %[[TOTAL:.*]] = func.call @updraft.take.sum(%[[ROW_LANES]], %[[FEW]])
// CHECK:             updraft.write %[[TOTAL]], %[[ROW_SUMS]][%[[ROW]]] : f64, !updraft.elements<f64>, i64
// CHECK:           func.call @updraft.take.sum(%[[LANES]], %[[FEW]])

// A sweep over rows has no matrix: it is a flat loop over other streams.
// CHECK-LABEL: func.func @R_sweep1(
// CHECK:         %[[SUMS:.*]] = updraft.locate %{{.*}}[2] : !llvm.ptr -> <f64>
// CHECK:         %[[MADE:.*]] = updraft.locate %{{.*}}[4] : !llvm.ptr -> <f32>
// CHECK-NOT:     arith.divui
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
// CHECK:           updraft.read %[[SUMS]][%[[I]]] : !updraft.elements<f64>, i64 -> vector<8xf64>
// CHECK:           updraft.write %{{.*}}, %[[MADE]][%[[I]]] : vector<8xf32>, !updraft.elements<f32>, i64

// A row's value is loaded once, and those of the columns like elements. There are no reductions.
// CHECK-LABEL: func.func @R_sweep2(
// CHECK-NOT:     updraft.scratch
// CHECK:           arith.divui
// CHECK:           %[[BATCH:.*]] = arith.divui %[[BLOCK:.*]], %{{.*}} : i64
// CHECK:           arith.minsi
// CHECK:           arith.muli %[[BATCH]], %[[ROWS:.*]] : i64
// CHECK:           %[[COLUMN_START:.*]] = arith.muli %[[BATCH]], %[[COLUMNS:.*]] : i64
// CHECK:           arith.muli %[[BLOCK]], %[[COLUMNS]] : i64
// CHECK:           scf.for %[[R:.*]] =
// CHECK:             %[[ROW:.*]] = arith.addi %{{.*}}, %[[R]] : i64
// CHECK:             %[[VALUE:.*]] = updraft.read %{{.*}}[%[[ROW]]] : !updraft.elements<f32>, i64 -> f32
// CHECK:             %[[VALUES:.*]] = vector.broadcast %[[VALUE]] : f32 to vector<8xf32>
// CHECK:             scf.for %[[I:.*]] =
// CHECK:               updraft.read %{{.*}}[%[[COLUMN_START]], %[[I]]] : !updraft.elements<f64>, i64, i64 -> vector<8xf64>
// CHECK:               arith.mulf %[[VALUES]], %{{.*}} : vector<8xf32>
