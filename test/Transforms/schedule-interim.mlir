// RUN: updraft-opt %s -updraft-schedule -split-input-file | FileCheck %s

// A product reads the initial matrix of a state where the state is. The step needs no other memory
// for it.
// CHECK-LABEL: updraft.plan @Initial
// CHECK:         %[[GRAM:.*]] = updraft.multiply when(%[[FLAG:.*]]) symmetric %grad, %grad transposed :
// CHECK-NEXT:    updraft.sweep when(%{{.*}}) over rows_by_rows {{.*}}reads(%q : {{.*}}writes(%q : !updraft.stream<f32, rows_by_rows>) {
// CHECK:         updraft.multiply %q, %grad :
// CHECK:         updraft.sweep when(%[[FLAG]]) over rows_by_rows {{.*}}reads(%q, %[[GRAM]] : {{.*}}writes(%q :
updraft.rule @Initial compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %f = arith.constant 1.0 : f32
  %lr = updraft.hyper "lr" = 1.0
  %first = updraft.first
  %flag = arith.cmpf ogt, %lr, %one : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %start = arith.select %first, %f, %q : f32
  %y = updraft.product %start, %grad : f32
  %t = updraft.transpose %grad : f32
  %gram = updraft.product symmetric %grad, %t : f32
  %q1 = arith.select %flag, %gram, %start : f32
  updraft.next %y, %q1 : f32, f32
}

// -----

// The state holds the value that the product reads in steps that need it. Only steps in which the
// flag holds store another one.
// CHECK-LABEL: updraft.plan @Chosen
// CHECK:         updraft.sweep when(%{{.*}}) {{.*}}reads(%grad, %m : {{.*}}writes(%m : !updraft.stream<f32>) {
// CHECK:         %[[Y:.*]] = updraft.multiply when(%[[FLAG:.*]]) %q, %m :
// CHECK:         updraft.sweep when(%[[FLAG]]) {{.*}}reads(%m, %[[Y]] : {{.*}}writes(%m :
// CHECK-NOT:     updraft.sweep
updraft.rule @Chosen compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %lr = updraft.hyper "lr" = 1.0
  %first = updraft.first
  %flag = arith.cmpf ogt, %lr, %one : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %sum = arith.addf %m, %grad : f32
  %y = updraft.product %q, %sum : f32
  %later = arith.select %flag, %y, %sum : f32
  %m1 = arith.select %first, %m, %later : f32
  updraft.next %param, %m1, %q : f32, f32, f32
}

// -----

// A state of fewer bits can't hold the value, and neither can one that is read afterwards.
// CHECK-LABEL: updraft.plan @Rounded
// CHECK:         %[[SUM:.*]] = updraft.sweep {{.*}}-> !updraft.stream<f32>
// CHECK:         updraft.multiply %q, %[[SUM]] :
// CHECK-LABEL: updraft.plan @ReadLater
// CHECK:         %[[SUM:.*]] = updraft.sweep {{.*}}-> !updraft.stream<f32>
// CHECK:         updraft.multiply %q, %[[SUM]] :
updraft.rule @Rounded compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %lr = updraft.hyper "lr" = 1.0
  %flag = arith.cmpf ogt, %lr, %one : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored bf16 initial %zero : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %sum = arith.addf %m, %grad : f32
  %y = updraft.product %q, %sum : f32
  %m1 = arith.select %flag, %y, %sum : f32
  updraft.next %y, %m1, %q : f32, f32, f32
}
updraft.rule @ReadLater compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %lr = updraft.hyper "lr" = 1.0
  %flag = arith.cmpf ogt, %lr, %one : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %sum = arith.addf %m, %grad : f32
  %y = updraft.product %q, %sum : f32
  %m1 = arith.select %flag, %y, %sum : f32
  %p1 = arith.mulf %y, %m : f32
  updraft.next %p1, %m1, %q : f32, f32, f32
}

// -----

// A kept value that is a choice of the state itself, and a kept state of fewer bits, are no interim
// values.
// CHECK-LABEL: updraft.plan @OwnChoice
// CHECK:         updraft.multiply when(%{{.*}}) %q, %{{.*}} :
// CHECK-LABEL: updraft.plan @KeptState
// CHECK:         %[[B:.*]] = updraft.sweep {{.*}}reads(%b : !updraft.stream<bf16>) -> !updraft.stream<f32>
// CHECK:         updraft.multiply %q, %[[B]] :
updraft.rule @OwnChoice compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %first = updraft.first
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %k = arith.select %first, %grad, %m : f32
  %y = updraft.product %q, %k : f32
  %p1 = arith.select %first, %y, %param : f32
  %m1 = arith.select %first, %k, %m : f32
  updraft.next %p1, %m1, %q : f32, f32, f32
}
updraft.rule @KeptState compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %first = updraft.first
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %b = updraft.state "b" stored bf16 initial %zero : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %y = updraft.product %q, %b : f32
  %m1 = arith.select %first, %y, %b : f32
  updraft.next %y, %b, %m1, %q : f32, f32, f32, f32
}

// -----

// If the state then holds the value in every branch, there is one store.
// CHECK-LABEL: updraft.plan @OneStore
// CHECK:         updraft.sweep when(%[[LATER:[0-9#]+]]) {{.*}}reads(%grad, %m : {{.*}}writes(%m : !updraft.stream<f32>) {
// CHECK:         updraft.multiply when(%[[LATER]]) %q, %m :
// CHECK-NOT:     writes(%m
// CHECK-LABEL: updraft.plan @AnotherState
// CHECK:         %[[SUM:.*]] = updraft.sweep {{.*}}-> !updraft.stream<f32>
// CHECK:         updraft.multiply when(%{{.*}}) %q, %[[SUM]] :
updraft.rule @OneStore compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %sum = arith.addf %m, %grad : f32
  %first = updraft.first
  %y = updraft.product %q, %sum : f32
  %p1 = arith.select %first, %param, %y : f32
  %m1 = arith.select %first, %m, %sum : f32
  updraft.next %p1, %m1, %q : f32, f32, f32
}
// Another state takes the value from before the step.
updraft.rule @AnotherState compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %first = updraft.first
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  %b = updraft.state "b" stored f32 initial %zero : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %sum = arith.addf %m, %grad : f32
  %y = updraft.product %q, %sum : f32
  %p1 = arith.select %first, %param, %y : f32
  %m1 = arith.select %first, %m, %sum : f32
  updraft.next %p1, %m1, %m, %q : f32, f32, f32, f32
}

// -----

// A state that gets its initial value in its first step holds it for a product, unless its next
// value is known while something still reads the initial one.
// CHECK-LABEL: updraft.plan @Initialized
// CHECK:         updraft.sweep when(%{{.*}}) {{.*}}writes(%m : !updraft.stream<f32>) {
// CHECK:         updraft.multiply %q, %m :
// CHECK-LABEL: updraft.plan @StillRead
// CHECK:         %[[K:.*]] = updraft.sweep {{.*}}writes(%m : !updraft.stream<f32>) -> !updraft.stream<f32>
// CHECK:         updraft.multiply %q, %[[K]] :
updraft.rule @Initialized compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %first = updraft.first
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %k = arith.select %first, %grad, %m : f32
  %y = updraft.product %q, %k : f32
  %p1 = arith.addf %param, %y : f32
  %m1 = arith.addf %k, %y : f32
  updraft.next %p1, %m1, %q : f32, f32, f32
}
updraft.rule @StillRead compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %first = updraft.first
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %k = arith.select %first, %grad, %m : f32
  %y = updraft.product %q, %k : f32
  %p1 = arith.addf %param, %y : f32
  %m1 = arith.addf %k, %grad : f32
  updraft.next %p1, %m1, %q : f32, f32, f32
}
