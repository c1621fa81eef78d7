// RUN: updraft-opt %s -updraft-schedule -updraft-expand-math -split-input-file | FileCheck %s

// result = 1; base; rest = |n|: one iteration for each bit.
// CHECK-LABEL: updraft.plan @Loop
// CHECK:         updraft.prologue
// CHECK-NEXT:    ^bb0(%[[B:.*]]: f64, %[[T:.*]]: f64):
// CHECK-NEXT:      %[[N:.*]] = arith.fptosi %[[T]] : f64 to i64
// CHECK-DAG:       %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK-DAG:       %[[BIT:.*]] = arith.constant 1 : i64
// CHECK-DAG:       %[[ONE:.*]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:      %[[NEGATIVE:.*]] = arith.cmpi slt, %[[N]], %[[ZERO]] : i64
// CHECK-NEXT:      %[[OPPOSITE:.*]] = arith.subi %[[ZERO]], %[[N]] : i64
// CHECK-NEXT:      %[[ABS:.*]] = arith.select %[[NEGATIVE]], %[[OPPOSITE]], %[[N]] : i64
// CHECK-NEXT:      %[[LOOP:.*]]:3 = scf.while (%[[E:.*]] = %[[ABS]], %[[F:.*]] = %[[B]], %[[R:.*]] = %[[ONE]]) : (i64, f64, f64) -> (i64, f64, f64) {
// CHECK-NEXT:        %[[MORE:.*]] = arith.cmpi ne, %[[E]], %[[ZERO]] : i64
// CHECK-NEXT:        scf.condition(%[[MORE]]) %[[E]], %[[F]], %[[R]] : i64, f64, f64
// CHECK-NEXT:      } do {
// CHECK-NEXT:      ^bb0(%[[E:.*]]: i64, %[[F:.*]]: f64, %[[R:.*]]: f64):
// CHECK-NEXT:        %[[LOW:.*]] = arith.andi %[[E]], %[[BIT]] : i64
// CHECK-NEXT:        %[[ODD:.*]] = arith.cmpi ne, %[[LOW]], %[[ZERO]] : i64
// CHECK-NEXT:        %[[RF:.*]] = arith.mulf %[[R]], %[[F]] : f64
// CHECK-NEXT:        %[[R1:.*]] = arith.select %[[ODD]], %[[RF]], %[[R]] : f64
// CHECK-NEXT:        %[[E1:.*]] = arith.shrui %[[E]], %[[BIT]] : i64
// CHECK-NEXT:        %[[F1:.*]] = arith.mulf %[[F]], %[[F]] : f64
// CHECK-NEXT:        scf.yield %[[E1]], %[[F1]], %[[R1]] : i64, f64, f64
// CHECK:           %[[INVERSE:.*]] = arith.divf %[[ONE]], %[[LOOP]]#2 : f64
// CHECK-NEXT:      %[[POWER:.*]] = arith.select %[[NEGATIVE]], %[[INVERSE]], %[[LOOP]]#2 : f64
// CHECK-NEXT:      arith.truncf %[[POWER]] : f64 to f32
// CHECK-NOT:       math.fpowi
updraft.rule @Loop compute f32 {
  %beta = updraft.hyper "beta" = 0.9
  %t = updraft.step
  %n = arith.fptosi %t : f64 to i64
  %b = math.fpowi %beta, %n : f64, i64
  %k = arith.truncf %b : f64 to f32
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %d = arith.mulf %g, %k : f32
  updraft.next %d : f32
}

// -----

// Constant exponents don't need a loop, in any kind of function: 10 = 0b1010, 0 and negative ones.
// CHECK-LABEL: updraft.plan @Constant
// CHECK:         updraft.initial
// CHECK-NEXT:    ^bb0(%[[X:.*]]: f64):
// CHECK-NEXT:      arith.constant -3 : i64
// CHECK-NEXT:      %[[X2:.*]] = arith.mulf %[[X]], %[[X]] : f64
// CHECK-NEXT:      %[[X3:.*]] = arith.mulf %[[X]], %[[X2]] : f64
// CHECK-NEXT:      %[[ONE:.*]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:      %[[I:.*]] = arith.divf %[[ONE]], %[[X3]] : f64
// CHECK-NEXT:      updraft.yield %[[I]] : f64
// CHECK:         updraft.validate
// CHECK-NEXT:    ^bb0(%[[X:.*]]: f64):
// CHECK-NEXT:      arith.constant 0 : i64
// CHECK-NEXT:      %[[ONE:.*]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:      arith.cmpf oge, %[[ONE]], %[[X]] : f64
// CHECK:         updraft.sweep
// CHECK-NEXT:    ^bb0(%[[G:.*]]: f32):
// CHECK-NEXT:      arith.constant 10 : i64
// CHECK-NEXT:      %[[G2:.*]] = arith.mulf %[[G]], %[[G]] : f32
// CHECK-NEXT:      %[[G4:.*]] = arith.mulf %[[G2]], %[[G2]] : f32
// CHECK-NEXT:      %[[G8:.*]] = arith.mulf %[[G4]], %[[G4]] : f32
// CHECK-NEXT:      %[[G10:.*]] = arith.mulf %[[G2]], %[[G8]] : f32
// CHECK-NEXT:      updraft.store %[[G10]] : f32
// CHECK-NOT:       math.fpowi
updraft.rule @Constant compute f32 {
  %lr = updraft.hyper "lr" = 2.0
  %minus_three = arith.constant -3 : i64
  %zero = arith.constant 0 : i64
  %ten = arith.constant 10 : i64
  %i = math.fpowi %lr, %minus_three : f64, i64
  %one = math.fpowi %lr, %zero : f64, i64
  %ok = arith.cmpf oge, %one, %lr : f64
  updraft.require %ok, "large"
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %i : f32
  %n = math.fpowi %g, %ten : f32, i64
  updraft.next %n, %m : f32, f32
}

// -----

// Narrow exponents are widened first.
// CHECK-LABEL: updraft.plan @Narrow
// CHECK:         %[[N:.*]] = arith.fptosi %{{.*}} : f64 to i32
// CHECK-NEXT:    %[[WIDE:.*]] = arith.extsi %[[N]] : i32 to i64
// CHECK:         scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (i64, f64, f64)
updraft.rule @Narrow compute f64 {
  %lr = updraft.hyper "lr" = 2.0
  %n = arith.fptosi %lr : f64 to i32
  %k = math.fpowi %lr, %n : f64, i32
  %p = updraft.param stored f64 : f64
  %g = updraft.grad stored f64 : f64
  %d = arith.mulf %g, %k : f64
  updraft.next %d : f64
}

// -----

// Each form of a rule, too.
// CHECK-LABEL: updraft.variants
// CHECK-NOT:     math.tanh
// CHECK-NOT:     math.fpowi
updraft.variants vectors {
  updraft.rule @V compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    %t = math.tanh %g : f32
    updraft.next %t : f32
  }
} matrices {
  updraft.rule @V_matrix compute f32 matrix {
    %three = arith.constant 3 : i64
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    %c = math.fpowi %g, %three : f32, i64
    updraft.next %c : f32
  }
}
