// RUN: updraft-opt %s -updraft-relax -split-input-file | FileCheck %s

// A division by a scalar: the reciprocal is computed once, in f64.
// CHECK-LABEL: updraft.rule @Reciprocal compute f32 fast {
// CHECK:         %[[K:.*]] = updraft.hyper "k"
// CHECK:         %[[P:.*]] = updraft.param
// CHECK:         %[[G:.*]] = updraft.grad
// CHECK:         %[[ONE:.*]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:    %[[R:.*]] = arith.divf %[[ONE]], %[[K]] : f64
// CHECK-NEXT:    %[[E:.*]] = arith.truncf %[[R]] : f64 to f32
// CHECK-NEXT:    %[[A:.*]] = arith.mulf %[[P]], %[[E]] : f32
// CHECK-NEXT:    %[[B:.*]] = arith.mulf %[[G]], %[[E]] : f32
// CHECK-NEXT:    %[[C:.*]] = arith.divf %[[A]], %[[B]] : f32
// CHECK-NEXT:    updraft.next %[[C]] : f32
updraft.rule @Reciprocal compute f32 fast {
  %k = updraft.hyper "k" = 1.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %e = arith.truncf %k : f64 to f32
  %a = arith.divf %p, %e : f32
  %b = arith.divf %g, %e : f32
  %c = arith.divf %a, %b : f32
  updraft.next %c : f32
}

// -----

// Scalars are combined before the tensor, in any order, and equal results are merged.
// CHECK-LABEL: updraft.rule @Merged
// CHECK:         %[[K:.*]] = updraft.hyper "k"
// CHECK:         %[[J:.*]] = updraft.hyper "j"
// CHECK:         %[[P:.*]] = updraft.param
// CHECK:         %[[G:.*]] = updraft.grad
// CHECK:         %[[KJ:.*]] = arith.mulf %[[K]], %[[J]] : f64
// CHECK-NEXT:    %[[E:.*]] = arith.truncf %[[KJ]] : f64 to f32
// CHECK-NEXT:    %[[A:.*]] = arith.mulf %[[P]], %[[E]] : f32
// CHECK-NEXT:    %[[B:.*]] = arith.divf %[[E]], %[[G]] : f32
// CHECK-NEXT:    math.fma %[[A]], %[[B]], %[[A]] : f32
updraft.rule @Merged compute f32 fast {
  %k = updraft.hyper "k" = 1.0
  %j = updraft.hyper "j" = 1.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %ke = arith.truncf %k : f64 to f32
  %je = arith.truncf %j : f64 to f32
  %a0 = arith.mulf %ke, %p : f32
  %a = arith.mulf %a0, %je : f32
  %b0 = arith.divf %je, %g : f32
  %b = arith.mulf %b0, %ke : f32
  %c = arith.mulf %a, %b : f32
  %d = arith.addf %c, %a : f32
  %e = arith.addf %d, %b : f32
  updraft.next %e : f32
}

// -----

// A scalar factor moves into the quotient's scalar, and so on. Expressions of constants keep their
// f64 values.
// CHECK-LABEL: updraft.rule @QuotientOfScalar
// CHECK:         %[[P:.*]] = updraft.param
// CHECK:         %[[G:.*]] = updraft.grad
// CHECK:         %[[S:.*]] = arith.truncf %{{.*}} : f64 to f32
// CHECK-NEXT:    %[[A:.*]] = arith.mulf %[[P]], %[[S]] : f32
// CHECK-NEXT:    %[[B:.*]] = arith.divf %[[A]], %[[G]] : f32
// CHECK-NEXT:    updraft.next %[[B]] : f32
updraft.rule @QuotientOfScalar compute f32 fast {
  %k = updraft.hyper "k" = 1.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %ke = arith.truncf %k : f64 to f32
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %a = arith.mulf %p, %two : f32
  %q = arith.divf %ke, %g : f32
  %b = arith.mulf %a, %q : f32
  %c = arith.mulf %three, %b : f32
  updraft.next %c : f32
}

// -----

// A product with one use is fused. For a difference, the scalar is negated.
// CHECK-LABEL: updraft.rule @Contracted
// CHECK:         %[[K:.*]] = arith.truncf
// CHECK-NEXT:    %[[A:.*]] = math.fma %[[G:.*]], %[[K]], %[[P:.*]] : f32
// CHECK-NEXT:    %[[N:.*]] = arith.negf %[[K]] : f32
// CHECK-NEXT:    %[[B:.*]] = math.fma %[[P]], %[[N]], %[[A]] : f32
// CHECK-NEXT:    %[[M:.*]] = arith.negf %[[P]] : f32
// CHECK-NEXT:    %[[C:.*]] = math.fma %[[B]], %[[G]], %[[M]] : f32
// CHECK-NEXT:    %[[L:.*]] = arith.negf %[[G]] : f32
// CHECK-NEXT:    %[[D:.*]] = math.fma %[[C]], %[[L]], %[[P]] : f32
// CHECK-NEXT:    updraft.next %[[D]] : f32
updraft.rule @Contracted compute f32 fast {
  %k = updraft.hyper "k" = 1.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %ke = arith.truncf %k : f64 to f32
  %a0 = arith.mulf %ke, %g : f32
  %a = arith.addf %a0, %p : f32
  %b0 = arith.mulf %p, %ke : f32
  %b = arith.subf %a, %b0 : f32
  %c0 = arith.mulf %b, %g : f32
  %c = arith.subf %c0, %p : f32
  %d0 = arith.mulf %c, %g : f32
  %d = arith.subf %p, %d0 : f32
  updraft.next %d : f32
}

// -----

// Scalars don't change. A product that has another use, or a use in a reduction, isn't fused into a
// sum. A division of tensors stays one.
// CHECK-LABEL: updraft.rule @Declined
// CHECK-NOT:     fma
// CHECK:         arith.divf %{{.*}}, %{{.*}} : f64
// CHECK:         arith.divf %{{.*}}, %{{.*}} : f32
// CHECK-NOT:     fma
updraft.rule @Declined compute f32 fast {
  %k = updraft.hyper "k" = 1.0
  %j = updraft.hyper "j" = 1.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %s0 = arith.mulf %k, %j : f64
  %s1 = arith.addf %s0, %k : f64
  %s = arith.divf %s1, %j : f64
  %se = arith.truncf %s : f64 to f32
  %a = arith.mulf %p, %se : f32
  %b = arith.addf %a, %g : f32
  %c = arith.divf %b, %a : f32
  %x = arith.extf %c : f32 to f64
  %xx = arith.mulf %x, %x : f64
  %n = updraft.reduce sum %xx over tensor : f64
  %ne = arith.truncf %n : f64 to f32
  %d = arith.addf %c, %ne : f32
  updraft.next %d : f32
}

// -----

// Rules in other modes don't change.
// CHECK-LABEL: updraft.rule @Strict compute f32 {
// CHECK:         arith.mulf
// CHECK-NEXT:    arith.addf
updraft.rule @Strict compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %a = arith.mulf %p, %g : f32
  %b = arith.addf %a, %g : f32
  updraft.next %b : f32
}

// -----

// If tensors are f64, nothing is rounded in between.
// CHECK-LABEL: updraft.rule @InF64
// CHECK-NOT:     truncf
// CHECK:         arith.divf %{{.*}}, %{{.*}} : f64
// CHECK-NEXT:    arith.negf
// CHECK-NEXT:    math.fma
updraft.rule @InF64 compute f64 fast {
  %k = updraft.hyper "k" = 1.0
  %p = updraft.param stored f64 : f64
  %g = updraft.grad stored f64 : f64
  %a = arith.divf %g, %k : f64
  %b = arith.subf %p, %a : f64
  updraft.next %b : f64
}

// -----

// Two quotients with the same tensor divisor use one division. Sums are contracted after that, so
// the sum of a product doesn't prevent it.
// CHECK-LABEL: updraft.rule @SharedDivision
// CHECK:         %[[P:.*]] = updraft.param
// CHECK:         %[[G:.*]] = updraft.grad
// CHECK:         %[[M:.*]] = updraft.state "m"
// CHECK:         %[[A:.*]] = arith.mulf %[[M]], %[[K:.*]] : f32
// CHECK-NEXT:    %[[S:.*]] = math.fma %[[G]], %[[K]], %[[A]] : f32
// CHECK-NEXT:    %[[Q:.*]] = arith.divf %[[S]], %[[M]] : f32
// CHECK-NEXT:    %[[R:.*]] = arith.addf %[[P]], %[[Q]] : f32
// CHECK-NEXT:    updraft.next %[[R]], %[[M]] : f32
updraft.rule @SharedDivision compute f32 fast {
  %k = updraft.hyper "k" = 1.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %zero = arith.constant 0.0 : f64
  %m = updraft.state "m" stored f32 initial %zero : f32
  %ke = arith.truncf %k : f64 to f32
  %a0 = arith.mulf %g, %ke : f32
  %a1 = arith.divf %a0, %m : f32
  %a = arith.addf %p, %a1 : f32
  %b0 = arith.mulf %m, %ke : f32
  %b1 = arith.divf %b0, %m : f32
  %b = arith.addf %a, %b1 : f32
  updraft.next %b, %m : f32, f32
}

// -----

// CHECK-LABEL: updraft.rule @SharedDivisionBesideProduct
// CHECK:         %[[S:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:    %[[Q:.*]] = arith.divf %[[S]], %{{.*}} : f32
// CHECK-NEXT:    math.fma %{{.*}}, %{{.*}}, %[[Q]] : f32
updraft.rule @SharedDivisionBesideProduct compute f32 fast {
  %k = updraft.hyper "k" = 1.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %zero = arith.constant 0.0 : f64
  %m = updraft.state "m" stored f32 initial %zero : f32
  %ke = arith.truncf %k : f64 to f32
  %a0 = arith.mulf %p, %ke : f32
  %a1 = arith.divf %g, %m : f32
  %a = arith.addf %a0, %a1 : f32
  %b1 = arith.divf %p, %m : f32
  %b = arith.addf %a, %b1 : f32
  updraft.next %b, %m : f32, f32
}

// -----

// A quotient on the left of a sum, as it appears if the constant is on the right.
// CHECK-LABEL: updraft.rule @SharedDivisionOnTheLeft
// CHECK:         %[[C:.*]] = arith.constant 1.600000e+01 : f32
// CHECK-NEXT:    %[[S:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:    %[[Q:.*]] = arith.divf %[[S]], %{{.*}} : f32
// CHECK-NEXT:    arith.addf %[[Q]], %[[C]] : f32
updraft.rule @SharedDivisionOnTheLeft compute f32 fast {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %zero = arith.constant 0.0 : f64
  %m = updraft.state "m" stored f32 initial %zero : f32
  %c = arith.constant 16.0 : f32
  %a1 = arith.divf %g, %m : f32
  %a = arith.addf %a1, %c : f32
  %b1 = arith.divf %p, %m : f32
  %b = arith.addf %b1, %a : f32
  updraft.next %b, %m : f32, f32
}

// -----

// Functions of constants aren't folded, because the C library would compute them.
// CHECK-LABEL: updraft.rule @Functions
// CHECK:         math.exp
updraft.rule @Functions compute f32 fast {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %two = arith.constant 2.0 : f64
  %e = math.exp %two : f64
  %ee = arith.truncf %e : f64 to f32
  %a = arith.divf %p, %ee : f32
  updraft.next %a : f32
}
