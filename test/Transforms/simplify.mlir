// RUN: updraft-opt %s -updraft-simplify -split-input-file | FileCheck %s

// Folds of upstream dialects, and dead operations.
// CHECK-LABEL: updraft.rule @Folded
// CHECK:         %[[P:.*]] = updraft.param
// CHECK:         %[[G:.*]] = updraft.grad
// CHECK-NEXT:    %[[D:.*]] = arith.subf %[[P]], %[[G]] : f32
// CHECK-NEXT:    updraft.next %[[D]] : f32
updraft.rule @Folded compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %minus_zero = arith.constant -0.0 : f32
  %true = arith.constant true
  %a = arith.mulf %g, %one : f32
  %b = arith.divf %a, %one : f32
  %c = arith.subf %b, %zero : f32
  %d = arith.addf %c, %minus_zero : f32
  %e = arith.negf %d : f32
  %f = arith.negf %e : f32
  %h = arith.select %true, %f, %p : f32
  %unordered = arith.cmpf ult, %p, %g : f32
  %i = arith.select %unordered, %h, %h : f32
  %dead = math.sqrt %p : f32
  %t = updraft.step
  %n = arith.subf %p, %i : f32
  updraft.next %n : f32
}

// -----

// CHECK-LABEL: updraft.rule @Negations
// CHECK:         %[[P:.*]] = updraft.param
// CHECK:         %[[G:.*]] = updraft.grad
// CHECK:         %[[M:.*]] = updraft.state "m"
// CHECK-NEXT:    %[[A:.*]] = arith.negf %[[G]] : f32
// CHECK-NEXT:    %[[B:.*]] = arith.subf %[[P]], %[[M]] : f32
// CHECK-NEXT:    %[[C:.*]] = arith.mulf %[[A]], %[[B]] : f32
// CHECK-NEXT:    %[[D:.*]] = arith.subf %[[M]], %[[P]] : f32
// CHECK-NEXT:    %[[E:.*]] = arith.addf %[[D]], %[[C]] : f32
// CHECK-NEXT:    updraft.next %[[E]], %[[B]]
updraft.rule @Negations compute f32 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  %minus_one = arith.constant -1.0 : f32
  %a = arith.mulf %g, %minus_one : f32
  %nm = arith.divf %m, %minus_one : f32
  %b = arith.addf %p, %nm : f32
  %c = arith.mulf %a, %b : f32
  %np = arith.negf %p : f32
  %d = arith.addf %np, %m : f32
  %nc = arith.negf %c : f32
  %e = arith.subf %d, %nc : f32
  updraft.next %e, %b : f32, f32
}

// -----

// CHECK-LABEL: updraft.rule @Constants
// CHECK:         %[[P:.*]] = updraft.param
// CHECK:         %[[G:.*]] = updraft.grad
// CHECK-NEXT:    %[[TENTH:.*]] = arith.constant 1.000000e-01 : f32
// CHECK-NEXT:    %[[A:.*]] = arith.mulf %[[G]], %[[TENTH]] : f32
// CHECK-NEXT:    %[[EIGHTH:.*]] = arith.constant -1.250000e-01 : f32
// CHECK-NEXT:    %[[B:.*]] = arith.mulf %[[A]], %[[EIGHTH]] : f32
// CHECK-NEXT:    %[[THREE:.*]] = arith.constant -3.000000e+00 : f32
// CHECK-NEXT:    %[[C:.*]] = arith.divf %[[B]], %[[THREE]] : f32
// CHECK-NEXT:    %[[D:.*]] = arith.mulf %[[C]], %[[THREE]] : f32
// CHECK-NEXT:    updraft.next %[[D]]
updraft.rule @Constants compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %tenth = arith.constant 0.1 : f64
  %k = arith.truncf %tenth : f64 to f32
  %eight = arith.constant 8.0 : f32
  %three = arith.constant 3.0 : f32
  %a = arith.mulf %g, %k : f32
  %na = arith.negf %a : f32
  %b = arith.divf %na, %eight : f32
  %nb = arith.negf %b : f32
  %c = arith.divf %nb, %three : f32
  %nc = arith.negf %c : f32
  %d = arith.mulf %nc, %three : f32
  updraft.next %d : f32
}

// -----

// CHECK-LABEL: updraft.rule @Magnitudes
// CHECK:         %[[P:.*]] = updraft.param
// CHECK:         %[[G:.*]] = updraft.grad
// CHECK-NEXT:    %[[A:.*]] = math.absf %[[G]] : f32
// CHECK-NEXT:    %[[B:.*]] = arith.mulf %[[P]], %[[A]] : f32
// CHECK-NEXT:    updraft.next %[[B]]
updraft.rule @Magnitudes compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = arith.negf %g : f32
  %a = math.absf %n : f32
  %b = math.absf %a : f32
  %again = math.absf %g : f32
  %least = arith.minimumf %b, %again : f32
  %most = arith.maximumf %least, %b : f32
  %r = arith.mulf %p, %most : f32
  updraft.next %r : f32
}

// -----

// A requirement that always holds is removed; one that never holds stays, so that the frontend
// reports it.
// CHECK-LABEL: updraft.rule @Requirements
// CHECK-NOT:     "always"
// CHECK:         updraft.require %{{.*}}, "never"
// CHECK:         updraft.require %{{.*}}, "perhaps"
updraft.rule @Requirements compute f32 {
  %lr = updraft.hyper "lr" = 1.0
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %always = arith.cmpf olt, %zero, %one : f64
  %never = arith.cmpf olt, %one, %zero : f64
  %perhaps = arith.cmpf olt, %zero, %lr : f64
  updraft.require %always, "always"
  updraft.require %never, "never"
  updraft.require %perhaps, "perhaps"
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %p : f32
}

// -----

// The interface stays, even if unused.
// CHECK-LABEL: updraft.rule @Interface
// CHECK:         updraft.hyper "unused"
// CHECK-NOT:     updraft.step
// CHECK-NOT:     updraft.first
// CHECK:         updraft.param
// CHECK:         updraft.grad
// CHECK:         updraft.state "kept"
updraft.rule @Interface compute f32 {
  %lr = updraft.hyper "unused" = 1.0
  %t = updraft.step
  %f = updraft.first
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %m = updraft.state "kept" stored f32 initial %lr : f32
  updraft.next %p, %m : f32, f32
}

// -----

// The same scalar in two places is merged.
// CHECK-LABEL: updraft.rule @Common
// CHECK:         %[[K:.*]] = arith.truncf
// CHECK-NOT:     arith.truncf
// CHECK:         arith.mulf %{{.*}}, %[[K]]
// CHECK:         arith.addf %{{.*}}, %[[K]]
updraft.rule @Common compute f32 {
  %lr = updraft.hyper "lr" = 1.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %a = arith.truncf %lr : f64 to f32
  %b = arith.truncf %lr : f64 to f32
  %x = arith.mulf %g, %a : f32
  %y = arith.addf %x, %b : f32
  updraft.next %y : f32
}

// -----

// A broadcast stays only where the operand has a smaller extent.
// CHECK-LABEL: updraft.rule @Broadcast
// CHECK:         %[[ONE:.*]] = arith.constant 1.0
// CHECK:         %[[ONES:.*]] = updraft.broadcast %[[ONE]] over element : f32
// CHECK:         updraft.reduce sum %[[ONES]] over tensor : f32
// CHECK-NEXT:    updraft.reduce max %grad over tensor : f32
updraft.rule @Broadcast compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %positive = arith.cmpf ogt, %g, %zero : f32
  %same = arith.select %positive, %one, %one : f32
  %ones = updraft.broadcast %same over element : f32
  %sum = updraft.reduce sum %ones over tensor : f32
  %grads = updraft.broadcast %g over element : f32
  %max = updraft.reduce max %grads over tensor : f32
  %n = arith.addf %sum, %max : f64
  %m = arith.truncf %n : f64 to f32
  %next = arith.mulf %p, %m : f32
  updraft.next %next : f32
}

// -----

// A matrix that is transposed twice, and the transpose of a symmetric one.
// CHECK-LABEL: updraft.rule @Transposed
// CHECK:         %[[G:.*]] = updraft.grad
// CHECK-NEXT:    %[[T:.*]] = updraft.transpose %[[G]]
// CHECK-NEXT:    %[[A:.*]] = updraft.product symmetric %[[G]], %[[T]]
// CHECK-NEXT:    %[[U:.*]] = updraft.product %[[A]], %[[G]]
// CHECK-NEXT:    updraft.next %[[U]]
updraft.rule @Transposed compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %t = updraft.transpose %grad : f32
  %tt = updraft.transpose %t : f32
  %a = updraft.product symmetric %grad, %t : f32
  %at = updraft.transpose %a : f32
  %u = updraft.product %at, %tt : f32
  updraft.next %u : f32
}
