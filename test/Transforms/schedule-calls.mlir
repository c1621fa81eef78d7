// RUN: updraft-opt %s -updraft-schedule -split-input-file | FileCheck %s

// A sweep over rows keeps the values that the function sorts by.
// CHECK-LABEL: updraft.plan @Sorted
// CHECK:         %[[SUM:.*]] = updraft.sweep reads(%grad : !updraft.stream<f32>) reduces [#updraft.reduction<sum over row>]
// CHECK:         %[[ROWS:.*]] = updraft.sweep over row reads(%[[SUM]] : !updraft.stream<f64, row>) -> !updraft.stream<f32, row> {
// CHECK:           %[[KEY:.*]] = arith.truncf
// CHECK-NEXT:      updraft.store make(%[[KEY]] : f32)
// CHECK:         %[[SORTED:.*]] = updraft.call sort_rows(%grad, %[[ROWS]]) :
// CHECK-NEXT:    updraft.sweep reads(%param, %[[SORTED]] :
// CHECK-SAME:      writes(%param :
updraft.rule @Sorted compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %n = updraft.reduce sum %grad over row : f32
  %r = arith.truncf %n : f64 to f32
  %s = updraft.apply sort_rows(%grad, %r) : (f32, f32) -> f32
  %p1 = arith.subf %param, %s : f32
  updraft.next %p1 : f32
}

// -----

// A function reads states and results of functions where they are. It reads bf16 as f32 that a
// sweep converts. The first function waits until the second one can run.
// CHECK-LABEL: updraft.plan @States
// CHECK:         %[[E:.*]] = updraft.sweep over column reads(%e : !updraft.stream<bf16, column>) -> !updraft.stream<f32, column> {
// CHECK:         %[[S:.*]] = updraft.call sort_columns(%grad, %d) :
// CHECK-NEXT:    %[[T:.*]] = updraft.call sort_columns(%[[S]], %[[E]]) :
// CHECK-NEXT:    updraft.sweep reads(%[[T]] :
// CHECK-SAME:      writes(%param :
updraft.rule @States compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %d = updraft.state "d" over column stored f32 initial %zero : f32
  %e = updraft.state "e" over column stored bf16 initial %zero : f32
  %s = updraft.apply sort_columns(%grad, %d) : (f32, f32) -> f32
  %t = updraft.apply sort_columns(%s, %e) : (f32, f32) -> f32
  updraft.next %t, %d, %e : f32, f32, f32
}

// -----

// Eigenvalues are a vector in memory. Functions, reductions and sweeps read it there.
// CHECK-LABEL: updraft.plan @Values
// CHECK:         %[[GRAM:.*]] = updraft.multiply symmetric %grad transposed, %grad :
// CHECK-NEXT:    %[[VALUES:.*]] = updraft.call eigenvalues(%[[GRAM]]) : (!updraft.stream<f32, columns_by_columns>) -> !updraft.stream<f32, column>
// CHECK-NEXT:    %[[MAX:.*]] = updraft.sweep over column reads(%[[VALUES]] : !updraft.stream<f32, column>) reduces [#updraft.reduction<max over tensor>]
// CHECK:         %[[K:.*]] = updraft.prologue(%[[MAX]])
// CHECK:         %[[SORTED:.*]] = updraft.call sort_columns(%grad, %[[VALUES]]) :
// CHECK-NEXT:    updraft.sweep scalars(%[[K]] : f32) reads(%[[VALUES]], %[[SORTED]] :
// CHECK-SAME:      writes(%param :
updraft.rule @Values compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %t = updraft.transpose %grad : f32
  %gram = updraft.product symmetric %t, %grad : f32
  %l = updraft.apply eigenvalues(%gram) : (f32) -> f32
  %w = arith.extf %l : f32 to f64
  %m = updraft.reduce max %w over tensor : f64
  %k = arith.truncf %m : f64 to f32
  %s = updraft.apply sort_columns(%grad, %l) : (f32, f32) -> f32
  %x = arith.mulf %s, %k : f32
  %y = arith.mulf %x, %l : f32
  updraft.next %y : f32
}

// -----

// The sweep stores the next state early, so that the function reads it there. A product and a solver
// share the gradient in f32.
// CHECK-LABEL: updraft.plan @Solver
// CHECK:         %[[G:.*]] = updraft.sweep reads(%grad : !updraft.stream<bf16>) -> !updraft.stream<f32> {
// CHECK:         %[[GRAM:.*]] = updraft.multiply symmetric %[[G]], %[[G]] transposed :
// CHECK-NEXT:    updraft.sweep over rows_by_rows reads(%l, %[[GRAM]] :
// CHECK-SAME:      writes(%l :
// CHECK:         %[[C:.*]] = updraft.call cholesky(%l) :
// CHECK-NEXT:    %[[X:.*]] = updraft.call solve_lower(%[[C]], %[[G]]) : (!updraft.stream<f32, rows_by_rows>, !updraft.stream<f32>) -> !updraft.stream<f32>
// CHECK-NEXT:    updraft.sweep reads(%param, %[[X]] :
// CHECK-SAME:      writes(%param :
updraft.rule @Solver compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored bf16 : f32
  %grad = updraft.grad stored bf16 : f32
  %l = updraft.state "l" over rows_by_rows stored f32 initial %zero : f32
  %t = updraft.transpose %grad : f32
  %gram = updraft.product symmetric %grad, %t : f32
  %l1 = arith.addf %l, %gram : f32
  %c = updraft.apply cholesky(%l1) : (f32) -> f32
  %x = updraft.apply solve_lower(%c, %grad) : (f32, f32) -> f32
  %p = arith.subf %param, %x : f32
  updraft.next %p, %l1 : f32, f32
}

// -----

// The result of a function isn't in the memory of a state: a sweep copies it. A product reads it.
// CHECK-LABEL: updraft.plan @Stored
// CHECK:         %[[C:.*]] = updraft.call cholesky(%l) :
// CHECK-NEXT:    %[[Y:.*]] = updraft.multiply %[[C]], %grad :
// CHECK-NEXT:    updraft.sweep reads(%[[Y]] :
// CHECK:         updraft.sweep over rows_by_rows reads(%[[C]] :
// CHECK-SAME:      writes(%l :
updraft.rule @Stored compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %l = updraft.state "l" over rows_by_rows stored f32 initial %zero : f32
  %c = updraft.apply cholesky(%l) : (f32) -> f32
  %y = updraft.product %c, %grad : f32
  updraft.next %y, %c : f32, f32
}

// -----

// Functions that no result needs are not computed.
// CHECK-LABEL: updraft.plan @Unused
// CHECK-NOT:     updraft.call
updraft.rule @Unused compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %l = updraft.state "l" over rows_by_rows stored f32 initial %zero : f32
  %c = updraft.apply cholesky(%l) : (f32) -> f32
  updraft.next %grad, %l : f32, f32
}

// -----

// Chosen columns: products read their transpose where it is, and sweeps run over their shapes.
// CHECK-LABEL: updraft.plan @Chosen compute f32 matrix chosen 2.500000e-01 {
// CHECK:         %[[PLACES:.*]] = updraft.call largest(%d) : (!updraft.stream<f32, column>) -> !updraft.stream<f32, column>
// CHECK-NEXT:    %[[C:.*]] = updraft.call gather_columns(%grad, %[[PLACES]]) : (!updraft.stream<f32>, !updraft.stream<f32, column>) -> !updraft.stream<f32, rows_by_chosen>
// CHECK-NEXT:    %[[GRAM:.*]] = updraft.multiply %[[C]] transposed, %[[C]] : <f32, rows_by_chosen>, <f32, rows_by_chosen> -> <f32, chosen_by_chosen>
// CHECK-NEXT:    %[[MAX:.*]] = updraft.sweep over chosen_by_chosen reads(%[[GRAM]] : !updraft.stream<f32, chosen_by_chosen>) reduces [#updraft.reduction<max over tensor>]
// CHECK:         %[[K:.*]] = updraft.prologue(%[[MAX]])
// CHECK:         %[[SCALED:.*]] = updraft.sweep over rows_by_chosen scalars(%[[K]] : f32) reads(%[[C]] : !updraft.stream<f32, rows_by_chosen>) -> !updraft.stream<f32, rows_by_chosen> {
// CHECK:         %[[BACK:.*]] = updraft.call scatter_columns(%[[SCALED]], %[[PLACES]]) : (!updraft.stream<f32, rows_by_chosen>, !updraft.stream<f32, column>) -> !updraft.stream<f32>
// CHECK-NEXT:    updraft.sweep reads(%[[BACK]] : !updraft.stream<f32>) writes(%param :
updraft.rule @Chosen compute f32 matrix chosen 0.25 {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %d = updraft.state "d" over column stored f32 initial %zero : f32
  %places = updraft.apply largest(%d) : (f32) -> f32
  %c = updraft.apply gather_columns(%grad, %places) : (f32, f32) -> f32
  %t = updraft.transpose %c : f32
  %gram = updraft.product %t, %c : f32
  %w = arith.extf %gram : f32 to f64
  %n = updraft.reduce max %gram over tensor : f32
  %k = arith.truncf %n : f64 to f32
  %s = arith.mulf %k, %c : f32
  %back = updraft.apply scatter_columns(%s, %places) : (f32, f32) -> f32
  updraft.next %back, %d : f32, f32
}
