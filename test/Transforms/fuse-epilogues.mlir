// RUN: updraft-opt %s -updraft-fuse-epilogues -split-input-file | FileCheck %s

// Constants become results of the first prologue, each once. The terms may be in any order, and the
// addend may be an operand, or the other of two products.

// CHECK-LABEL: updraft.plan @Sums
// CHECK:         %[[K:.*]]:4 = updraft.prologue(%a) : (f64) -> (f32, i1, f32, f32) {
// CHECK:           %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK:           %[[THREE:.*]] = arith.constant 3.000000e+00 : f32
// CHECK:           updraft.yield %{{.*}}, %{{.*}}, %[[TWO]], %[[THREE]] : f32, i1, f32, f32
// CHECK:         %[[GRAM:.*]] = updraft.multiply symmetric %grad, %grad transposed
// CHECK-NEXT:    %[[B:.*]] = updraft.multiply symmetric %[[GRAM]], %[[GRAM]] scale(%[[K]]#2) addend(%[[GRAM]]) addend_scale(%[[K]]#3) :
// CHECK-NEXT:    %[[X:.*]] = updraft.multiply %[[B]], %grad scale(%[[K]]#0) addend(%grad) :
// CHECK-NEXT:    %[[Y:.*]] = updraft.multiply when(%[[K]]#1) symmetric %[[B]], %[[B]] addend(%[[GRAM]]) addend_scale(%[[K]]#2) :
// CHECK-NEXT:    updraft.multiply %[[Y]], %[[X]] : <f32, rows_by_rows>, <f32> -> <f32>
// CHECK-NEXT:  }
updraft.plan @Sums compute f32 matrix {
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
  %0 = updraft.multiply symmetric %gram, %gram : <f32, rows_by_rows>, <f32, rows_by_rows> -> <f32, rows_by_rows>
  %b = updraft.sweep over rows_by_rows reads(%gram, %0 : !updraft.stream<f32, rows_by_rows>, !updraft.stream<f32, rows_by_rows>) -> !updraft.stream<f32, rows_by_rows> {
  ^bb0(%arg0: f32, %arg1: f32):
    %two = arith.constant 2.0 : f32
    %three = arith.constant 3.0 : f32
    %2 = arith.mulf %arg0, %three : f32
    %3 = arith.mulf %two, %arg1 : f32
    %4 = arith.addf %2, %3 : f32
    updraft.store make(%4 : f32)
  }
  %1 = updraft.multiply %b, %grad : <f32, rows_by_rows>, <f32> -> <f32>
  %x = updraft.sweep scalars(%k : f32) reads(%1, %grad : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32):
    %2 = arith.mulf %arg1, %arg0 : f32
    %3 = arith.addf %2, %arg2 : f32
    updraft.store make(%3 : f32)
  }
  %p = updraft.multiply when(%flag) symmetric %b, %b : <f32, rows_by_rows>, <f32, rows_by_rows> -> <f32, rows_by_rows>
  %y = updraft.sweep when(%flag) over rows_by_rows reads(%gram, %p : !updraft.stream<f32, rows_by_rows>, !updraft.stream<f32, rows_by_rows>) -> !updraft.stream<f32, rows_by_rows> {
  ^bb0(%arg0: f32, %arg1: f32):
    %two = arith.constant 2.0 : f32
    %2 = arith.mulf %arg0, %two : f32
    %3 = arith.addf %arg1, %2 : f32
    updraft.store make(%3 : f32)
  }
  %z = updraft.multiply %y, %x : <f32, rows_by_rows>, <f32> -> <f32>
}

// -----

// The later of two products adds the earlier one.
// CHECK-LABEL: updraft.plan @TwoProducts compute f64
// CHECK:         %[[X:.*]] = updraft.multiply %{{.*}}, %param : <f64, rows_by_rows>, <f64> -> <f64>
// CHECK-NEXT:    %[[Y:.*]] = updraft.multiply %{{.*}}, %grad scale(%{{.*}}#2) addend(%[[X]]) addend_scale(%{{.*}}#0) : <f64, rows_by_rows>, <f64> -> <f64>
// CHECK-NEXT:    updraft.multiply %{{.*}}, %[[Y]]
updraft.plan @TwoProducts compute f64 matrix {
  %a = updraft.hyper "a" = 5.000000e-01
  %param = updraft.stream "param" : <f64>
  %grad = updraft.stream "grad" : <f64>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k, %flag = updraft.prologue(%a) : (f64) -> (f64, i1) {
  ^bb0(%arg0: f64):
    %true = arith.constant true
    updraft.yield %arg0, %true : f64, i1
  }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f64>, <f64> -> <f64, rows_by_rows>
  %x = updraft.multiply %gram, %param : <f64, rows_by_rows>, <f64> -> <f64>
  %y = updraft.multiply %gram, %grad : <f64, rows_by_rows>, <f64> -> <f64>
  %s = updraft.sweep scalars(%k : f64) reads(%x, %y : !updraft.stream<f64>, !updraft.stream<f64>) -> !updraft.stream<f64> {
  ^bb0(%arg0: f64, %arg1: f64, %arg2: f64):
    %two = arith.constant 2.0 : f64
    %0 = arith.mulf %arg1, %arg0 : f64
    %1 = arith.mulf %arg2, %two : f64
    %2 = arith.addf %0, %1 : f64
    updraft.store make(%2 : f64)
  }
  %z = updraft.multiply %gram, %s : <f64, rows_by_rows>, <f64> -> <f64>
}

// -----

// In a fast plan, the sum is a fused multiply-add of the addend.
// CHECK-LABEL: updraft.plan @Fast
// CHECK:         %[[X:.*]] = updraft.multiply bf16 %{{.*}}, %grad scale(%[[K:.*]]#2) addend(%grad) addend_scale(%[[K]]#0) : <f32, rows_by_rows>, <f32> -> <f32>
// CHECK-NEXT:    %[[Y:.*]] = updraft.multiply %{{.*}}, %[[X]] addend(%grad) :
// CHECK-NEXT:    updraft.multiply %{{.*}}, %[[Y]] : <f32, rows_by_rows>, <f32> -> <f32>
// CHECK-NEXT:    updraft.sweep reads
// CHECK:           math.fma
updraft.plan @Fast compute f32 matrix fast {
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
  %0 = updraft.multiply bf16 %gram, %grad : <f32, rows_by_rows>, <f32> -> <f32>
  %x = updraft.sweep scalars(%k : f32) reads(%grad, %0 : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32):
    %two = arith.constant 2.0 : f32
    %2 = arith.mulf %arg2, %two : f32
    %3 = math.fma %arg1, %arg0, %2 : f32
    updraft.store make(%3 : f32)
  }
  %1 = updraft.multiply %gram, %x : <f32, rows_by_rows>, <f32> -> <f32>
  %y = updraft.sweep reads(%grad, %1 : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32):
    %2 = arith.addf %arg0, %arg1 : f32
    updraft.store make(%2 : f32)
  }
  %p = updraft.multiply %gram, %y : <f32, rows_by_rows>, <f32> -> <f32>
  %z = updraft.sweep reads(%grad, %p : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32):
    %two = arith.constant 2.0 : f32
    %2 = math.fma %arg1, %two, %arg0 : f32
    updraft.store make(%2 : f32)
  }
}

// -----

// The addend is the sum of the product before.
// CHECK-LABEL: updraft.plan @Iterates
// CHECK:         %[[S:.*]] = updraft.multiply %{{.*}}, %grad addend(%grad)
// CHECK-NEXT:    updraft.multiply %{{.*}}, %[[S]] addend(%[[S]])
// CHECK-NOT:     updraft.sweep
updraft.plan @Iterates compute f32 matrix {
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
  %s = updraft.sweep reads(%grad, %x : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.addf %arg0, %arg1 : f32
    updraft.store make(%0 : f32)
  }
  %y = updraft.multiply %gram, %s : <f32, rows_by_rows>, <f32> -> <f32>
  %t = updraft.sweep reads(%s, %y : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.addf %arg0, %arg1 : f32
    updraft.store make(%0 : f32)
  }
}

// -----

// Another operation reads the product.
// CHECK-LABEL: updraft.plan @UsedTwice
// CHECK-NOT:     addend
// CHECK:         updraft.sweep
updraft.plan @UsedTwice compute f32 matrix {
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
  %s = updraft.sweep reads(%grad, %x : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.addf %arg0, %arg1 : f32
    updraft.store make(%0 : f32)
  }
  %y = updraft.multiply %gram, %x : <f32, rows_by_rows>, <f32> -> <f32>
}

// -----

// A reduction.
// CHECK-LABEL: updraft.plan @Reduces
// CHECK-NOT:     addend
// CHECK:         updraft.sweep
updraft.plan @Reduces compute f32 matrix {
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
  %s, %n = updraft.sweep reads(%grad, %x : !updraft.stream<f32>, !updraft.stream<f32>) reduces [#updraft.reduction<max over tensor>] -> f64, !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.addf %arg0, %arg1 : f32
    %1 = arith.extf %0 : f32 to f64
    updraft.store reduce(%1) make(%0 : f32)
  }
}

// -----

// The parameter.
// CHECK-LABEL: updraft.plan @Writes
// CHECK-NOT:     addend
// CHECK:         updraft.sweep
updraft.plan @Writes compute f32 matrix {
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
  updraft.sweep reads(%grad, %x : !updraft.stream<f32>, !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.addf %arg0, %arg1 : f32
    updraft.store %0 : f32
  }
}

// -----

// Two matrices.
// CHECK-LABEL: updraft.plan @TwoResults
// CHECK-NOT:     addend
// CHECK:         updraft.sweep
updraft.plan @TwoResults compute f32 matrix {
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
  %s:2 = updraft.sweep reads(%grad, %x : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32>, !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.addf %arg0, %arg1 : f32
    updraft.store make(%0, %arg0 : f32, f32)
  }
}

// -----

// Two addends.
// CHECK-LABEL: updraft.plan @TwoAddends
// CHECK-NOT:     addend
// CHECK:         updraft.sweep
updraft.plan @TwoAddends compute f32 matrix {
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
  %s = updraft.sweep reads(%param, %grad, %x : !updraft.stream<f32>, !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg2: f32, %arg0: f32, %arg1: f32):
    %1 = arith.addf %arg1, %arg2 : f32
    %0 = arith.addf %1, %arg0 : f32
    updraft.store make(%0 : f32)
  }
}

// -----

// No addend.
// CHECK-LABEL: updraft.plan @NoAddend
// CHECK-NOT:     addend
// CHECK:         updraft.sweep
updraft.plan @NoAddend compute f32 matrix {
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
  %s = updraft.sweep scalars(%k : f32) reads(%x : !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.mulf %arg0, %arg1 : f32
    updraft.store make(%0 : f32)
  }
}

// -----

// A value per row.
// CHECK-LABEL: updraft.plan @Rows
// CHECK-NOT:     addend
// CHECK:         updraft.sweep
updraft.plan @Rows compute f32 matrix {
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
  %r = updraft.sweep reads(%grad : !updraft.stream<f32>) reduces [#updraft.reduction<max over row>] -> !updraft.stream<f64, row> {
  ^bb0(%arg0: f32):
    %0 = arith.extf %arg0 : f32 to f64
    updraft.store reduce(%0)
  }
  %s = updraft.sweep reads(%x, %r : !updraft.stream<f32>, !updraft.stream<f64, row>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f64):
    %0 = arith.truncf %arg1 : f64 to f32
    %1 = arith.addf %arg0, %0 : f32
    updraft.store make(%1 : f32)
  }
}

// -----

// More than a sum.
// CHECK-LABEL: updraft.plan @Function
// CHECK-NOT:     addend
// CHECK:         updraft.sweep
updraft.plan @Function compute f32 matrix {
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
  %s = updraft.sweep reads(%grad, %x : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32):
    %1 = arith.subf %arg0, %arg1 : f32
    updraft.store make(%1 : f32)
  }
}

// -----

// Another condition.
// CHECK-LABEL: updraft.plan @Condition
// CHECK-NOT:     addend
// CHECK:         updraft.sweep
updraft.plan @Condition compute f32 matrix {
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
  %s = updraft.sweep when(%flag) reads(%grad, %x : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.addf %arg0, %arg1 : f32
    updraft.store make(%0 : f32)
  }
}

// -----

// The addend is made after the product.
// CHECK-LABEL: updraft.plan @LateAddend
// CHECK-NOT:     addend
// CHECK:         updraft.sweep
updraft.plan @LateAddend compute f32 matrix {
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
  %y = updraft.sweep reads(%grad : !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32):
    updraft.store make(%arg0 : f32)
  }
  %s = updraft.sweep reads(%x, %y : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.addf %arg0, %arg1 : f32
    updraft.store make(%0 : f32)
  }
}

// -----

// A factor is known after the product.
// CHECK-LABEL: updraft.plan @LateScale
// CHECK-NOT:     addend
// CHECK:         updraft.sweep
updraft.plan @LateScale compute f32 matrix {
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
  %l = updraft.prologue(%a) : (f64) -> f32 {
  ^bb0(%arg0: f64):
    %0 = arith.truncf %arg0 : f64 to f32
    updraft.yield %0 : f32
  }
  %s = updraft.sweep scalars(%l : f32) reads(%grad, %x : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg2: f32, %arg0: f32, %arg1: f32):
    %0 = arith.mulf %arg2, %arg1 : f32
    %1 = arith.addf %0, %arg0 : f32
    updraft.store make(%1 : f32)
  }
}

// -----

// The addend is overwritten before the sweep reads it.
// CHECK-LABEL: updraft.plan @Overwritten
// CHECK-NOT:     addend
// CHECK:         updraft.sweep
updraft.plan @Overwritten compute f32 matrix {
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
  updraft.sweep reads(%grad : !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
  ^bb0(%arg0: f32):
    updraft.store %arg0 : f32
  }
  %s = updraft.sweep reads(%param, %x : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.addf %arg0, %arg1 : f32
    updraft.store make(%0 : f32)
  }
}

// -----

// The product is symmetric, its addend isn't.
// CHECK-LABEL: updraft.plan @Asymmetric
// CHECK-NOT:     addend
// CHECK:         updraft.sweep
updraft.plan @Asymmetric compute f32 matrix {
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
  %x = updraft.multiply %grad, %param transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %b = updraft.multiply symmetric %gram, %gram : <f32, rows_by_rows>, <f32, rows_by_rows> -> <f32, rows_by_rows>
  %s = updraft.sweep over rows_by_rows reads(%x, %b : !updraft.stream<f32, rows_by_rows>, !updraft.stream<f32, rows_by_rows>) -> !updraft.stream<f32, rows_by_rows> {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.addf %arg0, %arg1 : f32
    updraft.store make(%0 : f32)
  }
  %y = updraft.multiply %x, %s : <f32, rows_by_rows>, <f32, rows_by_rows> -> <f32, rows_by_rows>
}
