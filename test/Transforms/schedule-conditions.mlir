// RUN: updraft-opt %s -updraft-schedule -split-input-file | FileCheck %s

// Only one branch of a select needs the product and the function, and only that branch changes the
// state. All three have its condition. The other product has none, and neither has the sweep that
// always writes the parameter.
// CHECK-LABEL: updraft.plan @OneBranch
// CHECK:         %[[FIRST:.*]] = updraft.prologue(%first) : (i1) -> i1 {
// CHECK:         %[[GRAM:.*]] = updraft.multiply when(%[[FIRST]]) symmetric %grad, %grad transposed :
// CHECK-NEXT:    %[[E:.*]] = updraft.call when(%[[FIRST]]) eigenvectors(%[[GRAM]])
// CHECK-NEXT:    %[[Y:.*]] = updraft.multiply %q, %grad :
// CHECK-NEXT:    updraft.sweep reads(%[[Y]] : !updraft.stream<f32>) writes(%param :
// CHECK:         updraft.sweep when(%[[FIRST]]) over rows_by_rows scalars(%[[FIRST]] : i1) reads(%q, %[[E]] :
// CHECK-SAME:      writes(%q :
updraft.rule @OneBranch compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %first = updraft.first
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %t = updraft.transpose %grad : f32
  %gram = updraft.product symmetric %grad, %t : f32
  %e = updraft.apply eigenvectors(%gram) : (f32) -> f32
  %q1 = arith.select %first, %e, %q : f32
  %y = updraft.product %q, %grad : f32
  updraft.next %y, %q1 : f32, f32
}

// -----

// The inner branches are needed if the outer select takes them. A flag that must not hold is
// inverted. The sweep chooses among the results, and always stores one.
// CHECK-LABEL: updraft.plan @Nested
// CHECK:         %[[S:.*]]:4 = updraft.prologue(%lr, %first) : (f64, i1) -> (i1, i1, i1, i1) {
// CHECK-NEXT:    ^bb0(%{{.*}}: f64, %[[FIRST:.*]]: i1):
// CHECK:           %[[FLAG:.*]] = arith.cmpf ogt
// CHECK:           %[[LATER:.*]] = arith.xori %[[FIRST]], %{{.*}} : i1
// CHECK-NEXT:      %[[A:.*]] = arith.andi %[[LATER]], %[[FLAG]] : i1
// CHECK:           %[[LATER2:.*]] = arith.xori %[[FIRST]], %{{.*}} : i1
// CHECK:           %[[NOT:.*]] = arith.xori %[[FLAG]], %{{.*}} : i1
// CHECK-NEXT:      %[[B:.*]] = arith.andi %[[LATER2]], %[[NOT]] : i1
// CHECK-NEXT:      updraft.yield %[[FIRST]], %[[FLAG]], %[[A]], %[[B]] : i1, i1, i1, i1
// CHECK:         updraft.call when(%[[S]]#2) qr(%q)
// CHECK-NEXT:    updraft.call when(%[[S]]#3) cholesky(%q)
// CHECK-NEXT:    updraft.call when(%[[S]]#0) eigenvectors(%q)
// CHECK-NEXT:    updraft.sweep over rows_by_rows
// CHECK-SAME:      writes(%q :
updraft.rule @Nested compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %lr = updraft.hyper "lr" = 1.0
  %first = updraft.first
  %flag = arith.cmpf ogt, %lr, %one : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %a = updraft.apply qr(%q) : (f32) -> f32
  %b = updraft.apply cholesky(%q) : (f32) -> f32
  %c = updraft.apply eigenvectors(%q) : (f32) -> f32
  %inner = arith.select %flag, %a, %b : f32
  %outer = arith.select %first, %c, %inner : f32
  updraft.next %param, %outer : f32, f32
}

// -----

// Both branches need the function, one of them through a product.
// CHECK-LABEL: updraft.plan @Both
// CHECK:         %[[S:.*]]:2 = updraft.prologue(%first)
// CHECK:         %[[A:.*]] = updraft.call qr(%q)
// CHECK-NEXT:    updraft.multiply when(%[[S]]#1) %[[A]], %q :
updraft.rule @Both compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %first = updraft.first
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %a = updraft.apply qr(%q) : (f32) -> f32
  %b = updraft.product %a, %q : f32
  %q1 = arith.select %first, %a, %b : f32
  updraft.next %param, %q1 : f32, f32
}

// -----

// Conditions are flags of the first prologue. One that depends on a reduction isn't.
// CHECK-LABEL: updraft.plan @Reduced
// CHECK-NOT:     when(
updraft.rule @Reduced compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %n = updraft.reduce sum %grad over tensor : f32
  %flag = arith.cmpf ogt, %n, %zero : f64
  %e = updraft.apply qr(%q) : (f32) -> f32
  %q1 = arith.select %flag, %e, %q : f32
  updraft.next %param, %q1 : f32, f32
}

// -----

// Nor is one that differs from element to element.
// CHECK-LABEL: updraft.plan @Elements
// CHECK-NOT:     when(
updraft.rule @Elements compute f32 {
  %zero = arith.constant 0.0 : f32
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %flag = arith.cmpf ogt, %grad, %zero : f32
  %x = arith.addf %param, %grad : f32
  %p1 = arith.select %flag, %x, %param : f32
  updraft.next %p1 : f32
}

// -----

// Every tensor takes part in a reduction over the group. One over a tensor has the condition of the
// sweep that needs it.
// CHECK-LABEL: updraft.plan @Reductions
// CHECK:         %[[FIRST:.*]] = updraft.prologue(%first)
// CHECK:         updraft.sweep reads(%grad : !updraft.stream<f32>) reduces [#updraft.reduction<sum over group>, #updraft.reduction<sum over tensor>]
// CHECK:         updraft.sweep when(%[[FIRST]]) {{.*}}writes(%param :
// CHECK-LABEL: updraft.plan @OfTensor
// CHECK:         %[[FIRST:.*]] = updraft.prologue(%first)
// CHECK:         updraft.sweep when(%[[FIRST]]) reads(%grad : !updraft.stream<f32>) reduces [#updraft.reduction<sum over tensor>]
// CHECK:         updraft.sweep when(%[[FIRST]]) {{.*}}writes(%param :
updraft.rule @Reductions compute f32 {
  %first = updraft.first
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %n = updraft.reduce sum %grad over group : f32
  %s = updraft.reduce sum %grad over tensor : f32
  %ns = arith.addf %n, %s : f64
  %k = arith.truncf %ns : f64 to f32
  %x = arith.mulf %grad, %k : f32
  %p1 = arith.select %first, %x, %param : f32
  updraft.next %p1 : f32
}
updraft.rule @OfTensor compute f32 {
  %first = updraft.first
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %s = updraft.reduce sum %grad over tensor : f32
  %k = arith.truncf %s : f64 to f32
  %x = arith.mulf %grad, %k : f32
  %p1 = arith.select %first, %x, %param : f32
  updraft.next %p1 : f32
}

// -----

// Storing a value that was read may change a state in blocks, but not one of bf16.
// CHECK-LABEL: updraft.plan @Blocks
// CHECK-NOT:     when(
// CHECK-LABEL: updraft.plan @Half
// CHECK:         %[[S:.*]]:2 = updraft.prologue(%first)
// CHECK:         updraft.sweep when(%[[S]]#1) {{.*}}writes(%param, %m :
updraft.rule @Blocks compute f32 {
  %zero = arith.constant 0.0 : f64
  %first = updraft.first
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored !updraft.blocked<linear> initial %zero : f32
  %x = arith.addf %m, %grad : f32
  %m1 = arith.select %first, %m, %x : f32
  updraft.next %param, %m1 : f32, f32
}
updraft.rule @Half compute f32 {
  %zero = arith.constant 0.0 : f64
  %first = updraft.first
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored bf16 initial %zero : f32
  %x = arith.addf %m, %grad : f32
  %m1 = arith.select %first, %m, %x : f32
  %y = arith.subf %param, %m1 : f32
  %p1 = arith.select %first, %param, %y : f32
  updraft.next %p1, %m1 : f32, f32
}

// -----

// The sweep writes in steps in which either of two states changes. A condition on one is left out.
// CHECK-LABEL: updraft.plan @Common
// CHECK:         %[[S:.*]]:2 = updraft.prologue(%lr, %first) : (f64, i1) -> (i1, i1) {
// CHECK-NEXT:    ^bb0(%{{.*}}: f64, %[[FIRST:.*]]: i1):
// CHECK:           %[[FLAG:.*]] = arith.cmpf ogt
// CHECK:           updraft.yield %[[FIRST]], %[[FLAG]] : i1, i1
// CHECK:         updraft.sweep when(%[[S]]#0) {{.*}}writes(%m, %v :
updraft.rule @Common compute f32 {
  %zero = arith.constant 0.0 : f64
  %lr = updraft.hyper "lr" = 1.0
  %first = updraft.first
  %flag = arith.cmpf ogt, %lr, %zero : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  %v = updraft.state "v" stored f32 initial %zero : f32
  %a = arith.addf %m, %grad : f32
  %b = arith.addf %v, %grad : f32
  %a1 = arith.select %flag, %a, %m : f32
  %m1 = arith.select %first, %a1, %m : f32
  %v1 = arith.select %first, %b, %v : f32
  updraft.next %param, %m1, %v1 : f32, f32, f32
}

// -----

// A state that keeps its value in one of three branches is stored in steps of the other two.
// CHECK-LABEL: updraft.plan @Alternatives
// CHECK:         %[[S:.*]]:4 = updraft.prologue(%lr, %first) : (f64, i1) -> (i1, i1, i1, i1) {
// CHECK-NEXT:    ^bb0(%{{.*}}: f64, %[[FIRST:.*]]: i1):
// CHECK:           %[[FLAG:.*]] = arith.cmpf ogt
// CHECK:           %[[EITHER:.*]] = arith.ori %[[FIRST]], %[[FLAG]] : i1
// CHECK-NEXT:      updraft.yield %[[FIRST]], %[[FLAG]], %[[EITHER]], %{{.*}} : i1, i1, i1, i1
// CHECK:         updraft.sweep when(%[[S]]#2) over rows_by_rows
// CHECK-SAME:      writes(%q :
updraft.rule @Alternatives compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %lr = updraft.hyper "lr" = 1.0
  %first = updraft.first
  %flag = arith.cmpf ogt, %lr, %one : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %a = updraft.apply qr(%q) : (f32) -> f32
  %b = updraft.apply cholesky(%q) : (f32) -> f32
  %later = arith.select %flag, %b, %q : f32
  %q1 = arith.select %first, %a, %later : f32
  updraft.next %param, %q1 : f32, f32
}
