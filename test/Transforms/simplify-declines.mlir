// RUN: updraft-opt %s -updraft-simplify -split-input-file | FileCheck %s
// Operations that look like identities but would change bits: each must stay.

// -0 + 0 is +0.
// CHECK-LABEL: updraft.rule @AddZero
// CHECK: arith.addf %grad, %{{.*}} : f32
updraft.rule @AddZero compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %zero = arith.constant 0.0 : f32
  %n = arith.addf %g, %zero : f32
  updraft.next %n : f32
}

// -----

// NaN * 0 is NaN, -1 * 0 is -0.
// CHECK-LABEL: updraft.rule @MulZero
// CHECK: arith.mulf %grad, %{{.*}} : f32
updraft.rule @MulZero compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %zero = arith.constant 0.0 : f32
  %n = arith.mulf %g, %zero : f32
  updraft.next %n : f32
}

// -----

// infinity - infinity is NaN.
// CHECK-LABEL: updraft.rule @SubSelf
// CHECK: arith.subf %grad, %grad : f32
updraft.rule @SubSelf compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = arith.subf %g, %g : f32
  updraft.next %n : f32
}

// -----

// 0 / 0 is NaN.
// CHECK-LABEL: updraft.rule @DivSelf
// CHECK: arith.divf %grad, %grad : f32
updraft.rule @DivSelf compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = arith.divf %g, %g : f32
  updraft.next %n : f32
}

// -----

// -(x - x) is -0, x - x is +0.
// CHECK-LABEL: updraft.rule @NegOfSub
// CHECK: %[[D:.*]] = arith.subf %param, %grad : f32
// CHECK: arith.negf %[[D]] : f32
updraft.rule @NegOfSub compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %d = arith.subf %p, %g : f32
  %n = arith.negf %d : f32
  updraft.next %n : f32
}

// -----

// 1 / 3 isn't exact. The inverse of the smallest normal number doesn't overflow, but that of the
// largest power of two is subnormal.
// CHECK-LABEL: updraft.rule @Reciprocal
// CHECK: arith.divf
// CHECK: arith.divf
updraft.rule @Reciprocal compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %three = arith.constant 3.0 : f32
  %large = arith.constant 0x7F000000 : f32
  %a = arith.divf %g, %three : f32
  %b = arith.divf %a, %large : f32
  updraft.next %b : f32
}

// -----

// Operations aren't reassociated.
// CHECK-LABEL: updraft.rule @Regroup
// CHECK: %[[A:.*]] = arith.mulf %grad, %[[TWO:.*]] : f32
// CHECK: %[[B:.*]] = arith.mulf %[[A]], %{{.*}} : f32
// CHECK: %[[C:.*]] = arith.addf %[[B]], %param : f32
// CHECK: %[[D:.*]] = arith.subf %[[C]], %param : f32
// CHECK: updraft.next %[[D]]
updraft.rule @Regroup compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %a = arith.mulf %g, %two : f32
  %b = arith.mulf %a, %three : f32
  %c = arith.addf %b, %p : f32
  %d = arith.subf %c, %p : f32
  updraft.next %d : f32
}

// -----

// Operations aren't contracted.
// CHECK-LABEL: updraft.rule @Contract
// CHECK-NOT: math.fma
updraft.rule @Contract compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %a = arith.mulf %g, %g : f32
  %b = arith.addf %a, %p : f32
  updraft.next %b : f32
}

// -----

// From integer to f64 to f32 rounds twice.
// CHECK-LABEL: updraft.rule @TwoRoundings
// CHECK: %[[W:.*]] = arith.sitofp %{{.*}} : i64 to f64
// CHECK: arith.truncf %[[W]] : f64 to f32
updraft.rule @TwoRoundings compute f32 {
  %t = updraft.step
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %i = arith.fptosi %t : f64 to i64
  %w = arith.sitofp %i : i64 to f64
  %k = arith.truncf %w : f64 to f32
  %n = arith.mulf %g, %k : f32
  updraft.next %n : f32
}

// -----

// A comparison with itself is not true for a NaN.
// CHECK-LABEL: updraft.rule @CompareSelf
// CHECK: arith.cmpf oeq, %grad, %grad : f32
updraft.rule @CompareSelf compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %c = arith.cmpf oeq, %g, %g : f32
  %n = arith.select %c, %g, %p : f32
  updraft.next %n : f32
}

// -----

// Vectors are ignored without an error.
// CHECK-LABEL: updraft.rule @Vectors
// CHECK: updraft.next %param
updraft.rule @Vectors compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %v = arith.constant dense<[1.0, 3.0]> : vector<2xf64>
  %n = arith.negf %v : vector<2xf64>
  %m = arith.mulf %n, %v : vector<2xf64>
  %d = arith.divf %n, %v : vector<2xf64>
  %t = arith.truncf %v : vector<2xf64> to vector<2xf32>
  updraft.next %p : f32
}

// -----

// A function of a constant has the value of its expansion, not of the C library's function.
// CHECK-LABEL: updraft.rule @Function
// CHECK-DAG:   %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-DAG:   %[[E:.*]] = math.exp %[[TWO]] : f32
// CHECK-DAG:   %[[P:.*]] = math.powf %[[E]], %[[TWO]] : f32
// CHECK:       updraft.next %[[P]]
updraft.rule @Function compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %two = arith.constant 2.0 : f32
  %c = arith.cmpf oeq, %g, %p : f32
  %x = arith.select %c, %two, %two : f32
  %e = math.exp %x : f32
  %n = math.powf %e, %x : f32
  updraft.next %n : f32
}
