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
// CHECK:         %[[ROW_LANES:.*]] = llvm.alloca
// CHECK:         %[[LANES:.*]] = llvm.alloca
// CHECK:         scf.for
// CHECK:         %[[FIVE:.*]] = arith.constant 5 : i64
// CHECK:         arith.muli %{{.*}}, %[[FIVE]] : i64
// CHECK:         %[[GRAD_AT:.*]] = llvm.getelementptr inbounds %{{.*}}[1]
// CHECK:         %[[GRAD:.*]] = llvm.load %[[GRAD_AT]]
// CHECK:         %[[ROW_SUMS_AT:.*]] = llvm.getelementptr inbounds %{{.*}}[2]
// CHECK:         %[[ROW_SUMS:.*]] = llvm.load %[[ROW_SUMS_AT]]
// CHECK:         %[[COLUMN_SUMS_AT:.*]] = llvm.getelementptr inbounds %{{.*}}[3]
// CHECK:         %[[COLUMN_SUMS:.*]] = llvm.load %[[COLUMN_SUMS_AT]]
// CHECK:         %[[ROWS_AT:.*]] = llvm.getelementptr inbounds %[[SITE:.*]][3] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK:         %[[ROWS:.*]] = llvm.load %[[ROWS_AT]]
// CHECK:         %[[COLUMNS_AT:.*]] = llvm.getelementptr inbounds %[[SITE]][4]
// CHECK:         %[[COLUMNS:.*]] = llvm.load %[[COLUMNS_AT]]
//
// CHECK:         %[[GROUPS:.*]] = arith.shli
// CHECK:         scf.for %[[BLOCK:.*]] = %{{.*}} iter_args
// CHECK:           %[[BLOCK_ROWS:.*]] = arith.constant 64 : i64
// CHECK:           %[[ROUNDED:.*]] = arith.addi %[[ROWS]], %{{.*}} : i64
// CHECK:           %[[PER_BATCH:.*]] = arith.divui %[[ROUNDED]], %[[BLOCK_ROWS]] : i64
// CHECK:           %[[BATCH:.*]] = arith.divui %[[BLOCK]], %[[PER_BATCH]] : i64
// CHECK:           %[[FIRST_ROW:.*]] = arith.muli %[[BATCH]], %[[ROWS]] : i64
// CHECK:           %[[SUMS_START:.*]] = arith.muli %[[BLOCK]], %[[COLUMNS]] : i64
// CHECK:           scf.for %[[C:.*]] = %{{.*}} to %[[COLUMNS]]
// CHECK:             %[[SLOT:.*]] = arith.addi %[[SUMS_START]], %[[C]] : i64
// CHECK:             %[[SLOT_AT:.*]] = llvm.getelementptr inbounds %[[COLUMN_SUMS]][%[[SLOT]]]
// CHECK:             llvm.store %{{.*}}, %[[SLOT_AT]]
// CHECK:           scf.for %[[R:.*]] = %{{.*}} to %{{.*}} step
// CHECK:             %[[ROW:.*]] = arith.addi %[[FIRST_ROW]], %[[R]] : i64
// CHECK:             %[[START:.*]] = arith.muli %[[ROW]], %[[COLUMNS]] : i64
// CHECK:             scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
// CHECK:               %[[ELEMENT:.*]] = arith.addi %[[START]], %[[I]] : i64
// CHECK:               llvm.getelementptr inbounds %[[GRAD]][%[[ELEMENT]]]
// CHECK:               %[[LANE:.*]] = arith.andi %[[I]], %{{.*}} : i64
// CHECK:               llvm.getelementptr inbounds %[[ROW_LANES]][%[[LANE]]]
// CHECK:               %[[OF_COLUMN:.*]] = arith.addi %[[SUMS_START]], %[[I]] : i64
// CHECK:               llvm.getelementptr inbounds %[[COLUMN_SUMS]][%[[OF_COLUMN]]]
// CHECK:               llvm.getelementptr inbounds %[[LANES]][%[[LANE]]]
//
// Elements after the last columns belong to the next block.
// CHECK:             llvm.intr.masked.store %{{.*}}, %{{.*}}, %{{.*}} {alignment = 8 : i32} : vector<8xf64>
// CHECK:             %[[TOTAL:.*]] = func.call @updraft.take.sum(%[[ROW_LANES]], %[[GROUPS]])
// CHECK:             %[[ROW_AT:.*]] = llvm.getelementptr inbounds %[[ROW_SUMS]][%[[ROW]]]
// CHECK:             llvm.store %[[TOTAL]], %[[ROW_AT]]
// CHECK:           func.call @updraft.take.sum(%[[LANES]], %[[GROUPS]])

// A sweep over rows has no matrix: it is a flat loop over other streams.
// CHECK-LABEL: func.func @R_sweep1(
// CHECK:         %[[SUMS:.*]] = llvm.load %{{.*}} -> !llvm.ptr
// CHECK:         %[[MADE:.*]] = llvm.load %{{.*}} -> !llvm.ptr
// CHECK-NOT:     arith.divui
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
// CHECK:           %[[SUM_AT:.*]] = llvm.getelementptr inbounds %[[SUMS]][%[[I]]]
// CHECK:           llvm.load %[[SUM_AT]] {alignment = 8 : i64} : !llvm.ptr -> vector<8xf64>
// CHECK:           %[[MADE_AT:.*]] = llvm.getelementptr inbounds %[[MADE]][%[[I]]]
// CHECK:           llvm.store %{{.*}}, %[[MADE_AT]] {alignment = 4 : i64} : vector<8xf32>

// A row's value is loaded once, and those of the columns like elements. There are no reductions.
// CHECK-LABEL: func.func @R_sweep2(
// CHECK-NOT:     llvm.alloca
// CHECK:           arith.divui
// CHECK:           %[[BATCH:.*]] = arith.divui %[[BLOCK:.*]], %{{.*}} : i64
// CHECK:           arith.minsi
// CHECK:           arith.muli %[[BATCH]], %[[ROWS:.*]] : i64
// CHECK:           %[[COLUMN_START:.*]] = arith.muli %[[BATCH]], %[[COLUMNS:.*]] : i64
// CHECK:           arith.muli %[[BLOCK]], %[[COLUMNS]] : i64
// CHECK:           scf.for %[[R:.*]] =
// CHECK:             %[[ROW:.*]] = arith.addi %{{.*}}, %[[R]] : i64
// CHECK:             %[[ROW_AT:.*]] = llvm.getelementptr inbounds %{{.*}}[%[[ROW]]]
// CHECK:             %[[VALUE:.*]] = llvm.load %[[ROW_AT]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK:             %[[VALUES:.*]] = vector.broadcast %[[VALUE]] : f32 to vector<8xf32>
// CHECK:             scf.for %[[I:.*]] =
// CHECK:               %[[COLUMN:.*]] = arith.addi %[[COLUMN_START]], %[[I]] : i64
// CHECK:               %[[COLUMN_AT:.*]] = llvm.getelementptr inbounds %{{.*}}[%[[COLUMN]]]
// CHECK:               llvm.load %[[COLUMN_AT]] {alignment = 8 : i64} : !llvm.ptr -> vector<8xf64>
// CHECK:               arith.mulf %[[VALUES]], %{{.*}} : vector<8xf32>
