// RUN: updraft-opt %s | updraft-opt | FileCheck %s --strict-whitespace
// RUN: updraft-opt %s -mlir-print-op-generic | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -emit-bytecode | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -updraft-schedule -emit-bytecode | updraft-opt -o %t.bytecode.mlir
// RUN: updraft-opt %s -updraft-schedule -o %t.text.mlir
// RUN: diff %t.text.mlir %t.bytecode.mlir

// Functions of matrices, and conditions.

// CHECK-LABEL: updraft.rule @Functions compute f32 matrix {
// CHECK:         %[[QR:.*]] = updraft.apply qr(%l) : (f32) -> f32
// CHECK:         %[[CHOLESKY:.*]] = updraft.apply cholesky(%[[QR]]) : (f32) -> f32
// CHECK:         %[[VECTORS:.*]] = updraft.apply eigenvectors(%[[CHOLESKY]]) {note = "x"} : (f32) -> f32
// CHECK:         %[[VALUES:.*]] = updraft.apply eigenvalues(%[[VECTORS]]) : (f32) -> f32
// CHECK:         %[[LOWER:.*]] = updraft.apply solve_lower(%[[VECTORS]], %grad) : (f32, f32) -> f32
// CHECK:         %[[UPPER:.*]] = updraft.apply solve_upper(%[[VECTORS]], %l) : (f32, f32) -> f32
// CHECK:         %[[ROWS:.*]] = updraft.apply sort_rows(%[[LOWER]], %[[VALUES]]) : (f32, f32) -> f32
// CHECK:         %[[COLUMNS:.*]] = updraft.apply sort_columns(%[[UPPER]], %[[VALUES]]) : (f32, f32) -> f32
// CHECK:         %[[T:.*]] = updraft.apply transpose(%[[COLUMNS]]) : (f32) -> f32
// CHECK:         updraft.next %[[ROWS]], %[[T]] : f32, f32
updraft.rule @Functions compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %0 = updraft.param stored f32 : f32
  %1 = updraft.grad stored f32 : f32
  %2 = updraft.state "l" over rows_by_rows stored f32 initial %zero : f32
  %3 = updraft.apply qr(%2) : (f32) -> f32
  %4 = updraft.apply cholesky(%3) : (f32) -> f32
  %5 = updraft.apply eigenvectors(%4) {note = "x"} : (f32) -> f32
  %6 = updraft.apply eigenvalues(%5) : (f32) -> f32
  %7 = updraft.apply solve_lower(%5, %1) : (f32, f32) -> f32
  %8 = updraft.apply solve_upper(%5, %2) : (f32, f32) -> f32
  %9 = updraft.apply sort_rows(%7, %6) : (f32, f32) -> f32
  %10 = updraft.apply sort_columns(%8, %6) : (f32, f32) -> f32
  %11 = updraft.apply transpose(%10) : (f32) -> f32
  updraft.next %9, %11 : f32, f32
}

// CHECK-LABEL: updraft.plan @Conditions compute f32 matrix {
// CHECK:         %[[IS:.*]] = updraft.prologue(%first) : (i1) -> i1 {
// CHECK:         %[[GRAM:.*]] = updraft.multiply when(%[[IS]]) symmetric %param, %param transposed : <f32>, <f32> -> <f32, rows_by_rows>
// CHECK:         %[[Q:.*]] = updraft.call when(%[[IS]]) eigenvectors(%[[GRAM]]) {note = "y"} : (!updraft.stream<f32, rows_by_rows>) -> !updraft.stream<f32, rows_by_rows>
// CHECK:         %[[D:.*]] = updraft.call eigenvalues(%[[GRAM]]) : (!updraft.stream<f32, rows_by_rows>) -> !updraft.stream<f32, row>
// CHECK:         %[[S:.*]] = updraft.call when(%[[IS]]) sort_rows(%param, %[[D]]) : (!updraft.stream<f32>, !updraft.stream<f32, row>) -> !updraft.stream<f32>
// CHECK:         %[[Y:.*]] = updraft.multiply when(%[[IS]]) %[[Q]] transposed, %[[S]] : <f32, rows_by_rows>, <f32> -> <f32>
// CHECK:         updraft.sweep when(%[[IS]]) scalars(%[[IS]] : i1) reads(%[[Y]] : !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
// CHECK:         updraft.sweep when(%[[IS]]) over row reads(%[[D]] : !updraft.stream<f32, row>) -> !updraft.stream<f32, row> {
updraft.plan @Conditions compute f32 matrix {
  %0 = updraft.first
  %1 = updraft.stream "param" : <f32>
  %2 = updraft.stream "grad" : <f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %3 = updraft.prologue(%0) : (i1) -> i1 {
  ^bb0(%a: i1):
    updraft.yield %a : i1
  }
  %4 = updraft.multiply when(%3) symmetric %1, %1 transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %5 = updraft.call when(%3) eigenvectors(%4) {note = "y"} : (!updraft.stream<f32, rows_by_rows>) -> !updraft.stream<f32, rows_by_rows>
  %6 = updraft.call eigenvalues(%4) : (!updraft.stream<f32, rows_by_rows>) -> !updraft.stream<f32, row>
  %7 = updraft.call when(%3) sort_rows(%1, %6) : (!updraft.stream<f32>, !updraft.stream<f32, row>) -> !updraft.stream<f32>
  %8 = updraft.multiply when(%3) %5 transposed, %7 : <f32, rows_by_rows>, <f32> -> <f32>
  updraft.sweep when(%3) scalars(%3 : i1) reads(%8 : !updraft.stream<f32>) writes(%1 : !updraft.stream<f32>) {
  ^bb0(%flag: i1, %a: f32):
    %b = arith.select %flag, %a, %a : f32
    updraft.store %b : f32
  }
  %9 = updraft.sweep when(%3) over row reads(%6 : !updraft.stream<f32, row>) -> !updraft.stream<f32, row> {
  ^bb0(%a: f32):
    updraft.store make(%a : f32)
  }
}

// CHECK-LABEL: updraft.rule @Chosen compute f32 matrix chosen 2.500000e-01 {
// CHECK:         %[[PLACES:.*]] = updraft.apply largest(%d) : (f32) -> f32
// CHECK:         %[[ROWS:.*]] = updraft.apply gather_rows(%grad, %[[PLACES]]) : (f32, f32) -> f32
// CHECK:         %[[COLUMNS:.*]] = updraft.apply gather_columns(%grad, %e) : (f32, f32) -> f32
// CHECK:         %[[BACK:.*]] = updraft.apply scatter_rows(%{{.*}}, %[[PLACES]]) : (f32, f32) -> f32
// CHECK:         updraft.apply scatter_columns(%[[COLUMNS]], %e) : (f32, f32) -> f32
// Scheduled, it is a plan of the same fraction, with temporaries over chosen rows and columns.
updraft.rule @Chosen compute f32 matrix chosen 0.25 {
  %zero = arith.constant 0.0 : f64
  %0 = updraft.param stored f32 : f32
  %1 = updraft.grad stored f32 : f32
  %2 = updraft.state "d" over row stored f32 initial %zero : f32
  %3 = updraft.state "e" over column stored f32 initial %zero : f32
  %4 = updraft.apply largest(%2) : (f32) -> f32
  %5 = updraft.apply gather_rows(%1, %4) : (f32, f32) -> f32
  %6 = updraft.apply gather_columns(%1, %3) : (f32, f32) -> f32
  %7 = updraft.transpose %5 : f32
  %8 = updraft.product %5, %7 : f32
  %9 = updraft.product %8, %5 : f32
  %10 = updraft.apply scatter_rows(%9, %4) : (f32, f32) -> f32
  %11 = updraft.apply scatter_columns(%6, %3) : (f32, f32) -> f32
  %12 = arith.addf %10, %11 : f32
  updraft.next %12, %2, %3 : f32, f32, f32
}
