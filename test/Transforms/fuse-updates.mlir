// RUN: updraft-opt %s -updraft-fuse-epilogues -split-input-file | FileCheck %s

// A sweep that only changes the parameter by the product is a part of it, also if the product has an
// addend.
// CHECK-LABEL: updraft.plan @Updates
// CHECK:         %[[K:.*]]:2 = updraft.prologue
// CHECK:         updraft.multiply %{{.*}}, %grad addend(%grad) addend_scale(%[[K]]#0) sum_scale(%[[K]]#1) target(%param) target_scale(%[[K]]#0) : <f32, rows_by_rows>, <f32> -> <f32>
// CHECK-NOT:     updraft.sweep
updraft.plan @Updates compute f32 matrix {
  %a = updraft.hyper "a" = 5.000000e-01
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k, %l = updraft.prologue(%a) : (f64) -> (f32, f32) {
  ^bb0(%arg0: f64):
    %0 = arith.truncf %arg0 : f64 to f32
    %1 = arith.negf %0 : f32
    updraft.yield %0, %1 : f32, f32
  }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %x = updraft.multiply %gram, %grad addend(%grad) addend_scale(%k) : <f32, rows_by_rows>, <f32> -> <f32>
  updraft.sweep scalars(%k, %l : f32, f32) reads(%param, %x : !updraft.stream<f32>, !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32, %arg3: f32):
    %0 = arith.mulf %arg2, %arg0 : f32
    %1 = arith.mulf %arg1, %arg3 : f32
    %2 = arith.addf %0, %1 : f32
    updraft.store %2 : f32
  }
}

// -----

// The same of a product without an addend. A constant becomes a result of the prologue.
// CHECK-LABEL: updraft.plan @UpdatesByProduct
// CHECK:         %[[K:.*]]:3 = updraft.prologue
// CHECK:         updraft.multiply %{{.*}}, %grad sum_scale(%[[K]]#2) target(%param) :
// CHECK-NOT:     updraft.sweep
updraft.plan @UpdatesByProduct compute f32 matrix {
  %a = updraft.hyper "a" = 5.000000e-01
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k, %l = updraft.prologue(%a) : (f64) -> (f32, f32) {
  ^bb0(%arg0: f64):
    %0 = arith.truncf %arg0 : f64 to f32
    %1 = arith.negf %0 : f32
    updraft.yield %0, %1 : f32, f32
  }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %x = updraft.multiply %gram, %grad : <f32, rows_by_rows>, <f32> -> <f32>
  updraft.sweep reads(%param, %x : !updraft.stream<f32>, !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
  ^bb0(%arg0: f32, %arg1: f32):
    %two = arith.constant 2.0 : f32
    %0 = arith.mulf %arg1, %two : f32
    %1 = arith.subf %arg0, %0 : f32
    updraft.store %1 : f32
  }
}

// -----

// The sweep adds the gradient to the product, and changes the parameter by the sum.
// CHECK-LABEL: updraft.plan @SumThenUpdate
// CHECK:         %[[K:.*]]:3 = updraft.prologue
// CHECK:         updraft.multiply %{{.*}}, %grad scale(%[[K]]#2) addend(%grad) target(%param) target_scale(%[[K]]#0) :
// CHECK-NOT:     updraft.sweep
updraft.plan @SumThenUpdate compute f32 matrix {
  %a = updraft.hyper "a" = 5.000000e-01
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k, %flag = updraft.prologue(%a) : (f64) -> (f32, i1) {
  ^bb0(%arg0: f64):
    %true = arith.constant true
    %0 = arith.truncf %arg0 : f64 to f32
    updraft.yield %0, %true : f32, i1
  }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %x = updraft.multiply %gram, %grad : <f32, rows_by_rows>, <f32> -> <f32>
  updraft.sweep scalars(%k : f32) reads(%grad, %x, %param : !updraft.stream<f32>, !updraft.stream<f32>, !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32, %arg3: f32):
    %two = arith.constant 2.0 : f32
    %0 = arith.mulf %two, %arg2 : f32
    %1 = arith.subf %arg1, %0 : f32
    %2 = arith.mulf %arg3, %arg0 : f32
    %3 = arith.addf %2, %1 : f32
    updraft.store %3 : f32
  }
}

// -----

// A fast plan rounds the target and the sum at once.
// CHECK-LABEL: updraft.plan @UpdatesFast
// CHECK:         updraft.multiply %{{.*}}, %grad addend(%grad) addend_scale(%[[K:.*]]#0) sum_scale(%[[K]]#1) target(%param) target_scale(%[[K]]#0) :
// CHECK-NOT:     updraft.sweep
updraft.plan @UpdatesFast compute f32 matrix fast {
  %a = updraft.hyper "a" = 5.000000e-01
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k, %l = updraft.prologue(%a) : (f64) -> (f32, f32) {
  ^bb0(%arg0: f64):
    %0 = arith.truncf %arg0 : f64 to f32
    %1 = arith.negf %0 : f32
    updraft.yield %0, %1 : f32, f32
  }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %x = updraft.multiply %gram, %grad addend(%grad) addend_scale(%k) : <f32, rows_by_rows>, <f32> -> <f32>
  updraft.sweep scalars(%k, %l : f32, f32) reads(%param, %x : !updraft.stream<f32>, !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32, %arg3: f32):
    %0 = arith.mulf %arg3, %arg1 : f32
    %1 = math.fma %arg2, %arg0, %0 : f32
    updraft.store %1 : f32
  }
}

// -----

// A sweep between the two reads the parameter, which has its former value there.
// CHECK-LABEL: updraft.plan @ReadBetween
// CHECK-NOT:     target
// CHECK:         updraft.sweep reads(%param
// CHECK:         updraft.sweep scalars
updraft.plan @ReadBetween compute f32 matrix {
  %a = updraft.hyper "a" = 5.000000e-01
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k, %l = updraft.prologue(%a) : (f64) -> (f32, f32) {
  ^bb0(%arg0: f64):
    %0 = arith.truncf %arg0 : f64 to f32
    %1 = arith.negf %0 : f32
    updraft.yield %0, %1 : f32, f32
  }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %x = updraft.multiply %gram, %grad addend(%grad) addend_scale(%k) : <f32, rows_by_rows>, <f32> -> <f32>
  %n = updraft.sweep reads(%param : !updraft.stream<f32>) reduces [#updraft.reduction<max over tensor>] -> f64 {
  ^bb0(%arg0: f32):
    %0 = arith.extf %arg0 : f32 to f64
    updraft.store reduce(%0)
  }
  updraft.sweep scalars(%k, %l : f32, f32) reads(%param, %x : !updraft.stream<f32>, !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32, %arg3: f32):
    %0 = arith.mulf %arg2, %arg0 : f32
    %1 = arith.mulf %arg1, %arg3 : f32
    %2 = arith.addf %0, %1 : f32
    updraft.store %2 : f32
  }
}

// -----

// The product reads the parameter, so it only adds it.
// CHECK-LABEL: updraft.plan @ReadByProduct
// CHECK:         %[[X:.*]] = updraft.multiply %{{.*}}, %param scale(%[[K:.*]]#1) addend(%param) addend_scale(%[[K]]#0) :
// CHECK-NEXT:    updraft.sweep reads(%[[X]] : !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
updraft.plan @ReadByProduct compute f32 matrix {
  %a = updraft.hyper "a" = 5.000000e-01
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k, %l = updraft.prologue(%a) : (f64) -> (f32, f32) {
  ^bb0(%arg0: f64):
    %0 = arith.truncf %arg0 : f64 to f32
    %1 = arith.negf %0 : f32
    updraft.yield %0, %1 : f32, f32
  }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %x = updraft.multiply %gram, %param : <f32, rows_by_rows>, <f32> -> <f32>
  updraft.sweep scalars(%k, %l : f32, f32) reads(%param, %x : !updraft.stream<f32>, !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32, %arg3: f32):
    %0 = arith.mulf %arg2, %arg0 : f32
    %1 = arith.mulf %arg1, %arg3 : f32
    %2 = arith.addf %0, %1 : f32
    updraft.store %2 : f32
  }
}

// -----

// The sweep also reduces.
// CHECK-LABEL: updraft.plan @UpdatesAndReduces
// CHECK:         updraft.multiply %{{.*}}, %grad addend(%grad)
// CHECK-NOT:     target
// CHECK:         updraft.sweep scalars
updraft.plan @UpdatesAndReduces compute f32 matrix {
  %a = updraft.hyper "a" = 5.000000e-01
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k, %l = updraft.prologue(%a) : (f64) -> (f32, f32) {
  ^bb0(%arg0: f64):
    %0 = arith.truncf %arg0 : f64 to f32
    %1 = arith.negf %0 : f32
    updraft.yield %0, %1 : f32, f32
  }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %x = updraft.multiply %gram, %grad addend(%grad) addend_scale(%k) : <f32, rows_by_rows>, <f32> -> <f32>
  %n = updraft.sweep scalars(%k : f32) reads(%param, %x : !updraft.stream<f32>, !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) reduces [#updraft.reduction<max over tensor>] -> f64 {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32):
    %0 = arith.mulf %arg1, %arg0 : f32
    %1 = arith.addf %0, %arg2 : f32
    %2 = arith.extf %1 : f32 to f64
    updraft.store %1 : f32 reduce(%2)
  }
}

// -----

// A square state is no target of a symmetric product, whose upper half is a copy.
// CHECK-LABEL: updraft.plan @SymmetricProduct
// CHECK-NOT:     target
// CHECK:         updraft.sweep over rows_by_rows
updraft.plan @SymmetricProduct compute f32 matrix {
  %a = updraft.hyper "a" = 5.000000e-01
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  %s = updraft.stream "s" : <f32, rows_by_rows>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] { updraft.yield }
  %k, %l = updraft.prologue(%a) : (f64) -> (f32, f32) {
  ^bb0(%arg0: f64):
    %0 = arith.truncf %arg0 : f64 to f32
    %1 = arith.negf %0 : f32
    updraft.yield %0, %1 : f32, f32
  }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  updraft.sweep over rows_by_rows scalars(%k : f32) reads(%s, %gram : !updraft.stream<f32, rows_by_rows>, !updraft.stream<f32, rows_by_rows>) writes(%s : !updraft.stream<f32, rows_by_rows>) {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32):
    %0 = arith.mulf %arg1, %arg0 : f32
    %1 = arith.addf %0, %arg2 : f32
    updraft.store %1 : f32
  }
}

// -----

// A reduction after the product may skip the step.
// CHECK-LABEL: updraft.plan @SkipsLate
// CHECK-NOT:     target
// CHECK:         updraft.commit skip
// CHECK:         updraft.sweep reads
updraft.plan @SkipsLate compute f32 matrix {
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %x = updraft.multiply %gram, %grad addend(%grad) : <f32, rows_by_rows>, <f32> -> <f32>
  %n = updraft.sweep reads(%grad : !updraft.stream<f32>) reduces [#updraft.reduction<max over tensor>] -> f64 {
  ^bb0(%arg0: f32):
    %0 = arith.extf %arg0 : f32 to f64
    updraft.store reduce(%0)
  }
  %skip = updraft.prologue(%n) : (f64) -> i1 {
  ^bb0(%arg0: f64):
    %0 = arith.cmpf une, %arg0, %arg0 : f64
    updraft.yield %0 : i1
  }
  updraft.commit skip(%skip)
  updraft.sweep reads(%param, %x : !updraft.stream<f32>, !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.addf %arg0, %arg1 : f32
    updraft.store %0 : f32
  }
}

// -----

// The second product writes the state that the sweep would add to the first one.
// CHECK-LABEL: updraft.plan @WritesBetween
// CHECK:         %[[P:.*]] = updraft.multiply %{{.*}}, %grad : <f32, rows_by_rows>, <f32> -> <f32>
// CHECK-NEXT:    updraft.multiply %{{.*}}, %grad target(%m) :
// CHECK-NEXT:    updraft.sweep reads(%param, %m, %[[P]] :
updraft.plan @WritesBetween compute f32 matrix {
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  %m = updraft.stream "m" : <f32>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] { updraft.yield }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %p1 = updraft.multiply %gram, %grad : <f32, rows_by_rows>, <f32> -> <f32>
  %p2 = updraft.multiply %gram, %grad : <f32, rows_by_rows>, <f32> -> <f32>
  updraft.sweep reads(%m, %p2 : !updraft.stream<f32>, !updraft.stream<f32>) writes(%m : !updraft.stream<f32>) {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.addf %arg0, %arg1 : f32
    updraft.store %0 : f32
  }
  updraft.sweep reads(%param, %m, %p1 : !updraft.stream<f32>, !updraft.stream<f32>, !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32):
    %0 = arith.addf %arg1, %arg2 : f32
    %1 = arith.mulf %0, %arg0 : f32
    updraft.store %1 : f32
  }
}
