// RUN: updraft-opt %s -updraft-schedule -updraft-order-stages -split-input-file | FileCheck %s
// RUN: updraft-opt %s -updraft-schedule -updraft-order-stages=max-sets=1 -split-input-file \
// RUN:   | FileCheck %s --check-prefix=LIMITED

// One side of the matrix is finished before the other starts: two matrices at a time, not three.
// CHECK-LABEL: updraft.plan @Sides
// CHECK:         %[[LEFT:.*]] = updraft.multiply symmetric %grad, %grad transposed
// CHECK-NEXT:    %[[LEFT2:.*]] = updraft.multiply symmetric %[[LEFT]], %[[LEFT]]
// CHECK-NEXT:    updraft.sweep over rows_by_rows reads(%[[LEFT2]] :
// CHECK-SAME:      writes(%l :
// CHECK:         %[[RIGHT:.*]] = updraft.multiply symmetric %grad transposed, %grad
// CHECK-NEXT:    %[[RIGHT2:.*]] = updraft.multiply symmetric %[[RIGHT]], %[[RIGHT]]
// CHECK-NEXT:    updraft.sweep over columns_by_columns reads(%[[RIGHT2]] :
// CHECK-SAME:      writes(%r :

// The order of the schedule stays if the search takes too long.
// LIMITED-LABEL: updraft.plan @Sides
// LIMITED-COUNT-4: updraft.multiply
// LIMITED-NEXT:    updraft.sweep over rows_by_rows
// LIMITED:         updraft.sweep over columns_by_columns
updraft.rule @Sides compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %l = updraft.state "l" over rows_by_rows stored f32 initial %zero : f32
  %r = updraft.state "r" over columns_by_columns stored f32 initial %zero : f32
  %gt = updraft.transpose %grad : f32
  %left = updraft.product symmetric %grad, %gt : f32
  %left2 = updraft.product symmetric %left, %left : f32
  %right = updraft.product symmetric %gt, %grad : f32
  %right2 = updraft.product symmetric %right, %right : f32
  updraft.next %param, %left2, %right2 : f32, f32, f32
}

// -----

// The right side reads the parameter before the left side changes it.
// CHECK-LABEL: updraft.plan @Reads
// CHECK:         %[[LEFT:.*]] = updraft.multiply symmetric %grad, %grad transposed
// CHECK-NEXT:    %[[LEFT2:.*]] = updraft.multiply symmetric %[[LEFT]], %[[LEFT]]
// CHECK-NEXT:    %[[MOVE:.*]] = updraft.multiply %[[LEFT2]], %grad
// CHECK-NEXT:    %[[RIGHT:.*]] = updraft.multiply symmetric %param transposed, %param
// CHECK-NEXT:    updraft.sweep reads(%param, %[[MOVE]] :
// CHECK-SAME:      writes(%param :
// CHECK:         updraft.multiply symmetric %[[RIGHT]], %[[RIGHT]]
updraft.rule @Reads compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %r = updraft.state "r" over columns_by_columns stored f32 initial %zero : f32
  %gt = updraft.transpose %grad : f32
  %pt = updraft.transpose %param : f32
  %left = updraft.product symmetric %grad, %gt : f32
  %left2 = updraft.product symmetric %left, %left : f32
  %move = updraft.product %left2, %grad : f32
  %right = updraft.product symmetric %pt, %param : f32
  %right2 = updraft.product symmetric %right, %right : f32
  %p1 = arith.subf %param, %move : f32
  updraft.next %p1, %right2 : f32, f32
}

// -----

// Nothing needs fewer matrices than the order of the schedule, so it stays.
// CHECK-LABEL: updraft.plan @Kept
// CHECK:         updraft.sweep reads(%grad, %m :
// CHECK:         %[[GRAM:.*]] = updraft.multiply symmetric %m, %m transposed
// CHECK-NEXT:    %[[MOVE:.*]] = updraft.multiply %[[GRAM]], %m
// CHECK-NEXT:    updraft.sweep reads(%param, %[[MOVE]] :
updraft.rule @Kept compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  %m1 = arith.addf %m, %grad : f32
  %mt = updraft.transpose %m1 : f32
  %gram = updraft.product symmetric %m1, %mt : f32
  %move = updraft.product %gram, %m1 : f32
  %p1 = arith.subf %param, %move : f32
  updraft.next %p1, %m1 : f32, f32
}

// -----

// A prologue separates the sections. A matrix of the first one is read in the second one.
// CHECK-LABEL: updraft.plan @Sections
// CHECK:         %[[SQUARE:.*]] = updraft.multiply symmetric %grad, %grad transposed
// CHECK:         reduces [#updraft.reduction<sum over tensor>]
// CHECK:         updraft.prologue
// CHECK:         %[[LEFT:.*]] = updraft.sweep over rows_by_rows scalars({{.*}}) reads(%[[SQUARE]] :
// CHECK:         %[[MOVE:.*]] = updraft.multiply %[[LEFT]], %grad
// CHECK:         updraft.sweep reads(%param, %[[MOVE]] :
updraft.rule @Sections compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %gt = updraft.transpose %grad : f32
  %square = updraft.product symmetric %grad, %gt : f32
  %sum = updraft.reduce sum %square over tensor : f32
  %scale = arith.truncf %sum : f64 to f32
  %left = arith.divf %square, %scale : f32
  %move = updraft.product %left, %grad : f32
  %p1 = arith.subf %param, %move : f32
  updraft.next %p1 : f32
}

// -----

// Functions of two sides that follow each other would run at the same time, and need both matrices.
// CHECK-LABEL: updraft.plan @Functions
// CHECK:         %[[LEFT:.*]] = updraft.multiply symmetric %grad, %grad transposed
// CHECK-NEXT:    %[[VALUES:.*]] = updraft.call eigenvalues(%[[LEFT]])
// CHECK-NEXT:    %[[RIGHT:.*]] = updraft.multiply symmetric %grad transposed, %grad
// CHECK-NEXT:    updraft.call eigenvalues(%[[RIGHT]])
updraft.rule @Functions compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %gt = updraft.transpose %grad : f32
  %left = updraft.product symmetric %grad, %gt : f32
  %right = updraft.product symmetric %gt, %grad : f32
  %lv = updraft.apply eigenvalues(%left) : (f32) -> f32
  %rv = updraft.apply eigenvalues(%right) : (f32) -> f32
  %l = arith.mulf %param, %lv : f32
  %p1 = arith.mulf %l, %rv : f32
  updraft.next %p1 : f32
}
