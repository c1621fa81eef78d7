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

// The sweep reduces the sum, which the product makes.
// CHECK-LABEL: updraft.plan @Reduces
// CHECK:         %[[S:.*]] = updraft.multiply %{{.*}}, %grad addend(%grad)
// CHECK-NEXT:    updraft.sweep reads(%[[S]] : !updraft.stream<f32>) reduces [#updraft.reduction<max over tensor>] -> f64 {
// CHECK-NEXT:    ^bb0(%[[E:.*]]: f32):
// CHECK-NEXT:      %[[W:.*]] = arith.extf %[[E]] : f32 to f64
// CHECK-NEXT:      updraft.store reduce(%[[W]])
// CHECK:         updraft.multiply %{{.*}}, %[[S]]
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
  %y = updraft.multiply %gram, %n : <f32, rows_by_rows>, <f32> -> <f32>
}

// -----

// The sweep writes the sum, and something else that scalars and another stream give.
// CHECK-LABEL: updraft.plan @Writes
// CHECK:         %[[K:.*]]:3 = updraft.prologue
// CHECK:         %[[S:.*]] = updraft.multiply %{{.*}}, %grad scale(%[[K]]#2) addend(%grad) :
// CHECK-NEXT:    updraft.sweep scalars(%[[K]]#0 : f32) reads(%[[S]], %param : !updraft.stream<f32>, !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f32, %[[E:.*]]: f32, %[[P:.*]]: f32):
// CHECK-NEXT:      %[[D:.*]] = arith.mulf %[[P]], %[[A]] : f32
// CHECK-NEXT:      %[[N:.*]] = arith.maximumf %[[D]], %[[E]] : f32
// CHECK-NEXT:      updraft.store %[[N]] : f32
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
  updraft.sweep scalars(%k : f32) reads(%grad, %x, %param : !updraft.stream<f32>, !updraft.stream<f32>, !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32, %arg3: f32):
    %two = arith.constant 2.0 : f32
    %0 = arith.mulf %two, %arg2 : f32
    %1 = arith.subf %arg1, %0 : f32
    %2 = arith.mulf %arg3, %arg0 : f32
    %3 = arith.maximumf %2, %1 : f32
    updraft.store %3 : f32
  }
}

// -----

// Two sums, each of its product.
// CHECK-LABEL: updraft.plan @TwoSums
// CHECK:         %[[X:.*]] = updraft.multiply %{{.*}}, %grad addend(%grad) :
// CHECK-NEXT:    %[[Y:.*]] = updraft.multiply %{{.*}}, %param addend(%param) :
// CHECK-NEXT:    updraft.multiply %[[X]] transposed, %[[Y]]
// CHECK-NOT:     updraft.sweep
updraft.plan @TwoSums compute f32 matrix {
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %x = updraft.multiply %gram, %grad : <f32, rows_by_rows>, <f32> -> <f32>
  %y = updraft.multiply %gram, %param : <f32, rows_by_rows>, <f32> -> <f32>
  %s:2 = updraft.sweep reads(%param, %grad, %x, %y : !updraft.stream<f32>, !updraft.stream<f32>, !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32>, !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32, %arg3: f32):
    %0 = arith.addf %arg1, %arg2 : f32
    %1 = arith.addf %arg0, %arg3 : f32
    updraft.store make(%0, %1 : f32, f32)
  }
  %z = updraft.multiply %s#0 transposed, %s#1 : <f32>, <f32> -> <f32, columns_by_columns>
}

// -----

// The sweep uses the other matrix for something else, too.
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

// Two addends, of which the product takes the first.
// CHECK-LABEL: updraft.plan @TwoAddends
// CHECK:         %[[S:.*]] = updraft.multiply %{{.*}}, %grad addend(%param)
// CHECK-NEXT:    updraft.sweep reads(%grad, %[[S]] : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
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

// Another function of the two.
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
    %1 = arith.maximumf %arg0, %arg1 : f32
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

// -----

// A difference adds the negative.
// CHECK-LABEL: updraft.plan @Differences
// CHECK:           %[[MINUS:.*]] = arith.constant -1.000000e+00 : f32
// CHECK:           %[[HALF:.*]] = arith.constant -5.000000e-01 : f32
// CHECK:           updraft.yield %{{.*}}, %[[MINUS]], %[[HALF]] : f32, f32, f32
// CHECK:         %[[X:.*]] = updraft.multiply %{{.*}}, %grad addend(%grad) addend_scale(%[[K:.*]]#1) :
// CHECK-NEXT:    updraft.multiply %{{.*}}, %[[X]] scale(%[[K]]#2) addend(%[[X]]) addend_scale(%[[K]]#0) :
// CHECK-NOT:     updraft.sweep
updraft.plan @Differences compute f32 matrix {
  %a = updraft.hyper "a" = 5.000000e-01
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k = updraft.prologue(%a) : (f64) -> f32 {
  ^bb0(%arg0: f64):
    %0 = arith.truncf %arg0 : f64 to f32
    updraft.yield %0 : f32
  }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %0 = updraft.multiply %gram, %grad : <f32, rows_by_rows>, <f32> -> <f32>
  %x = updraft.sweep reads(%grad, %0 : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32):
    %2 = arith.subf %arg1, %arg0 : f32
    updraft.store make(%2 : f32)
  }
  %1 = updraft.multiply %gram, %x : <f32, rows_by_rows>, <f32> -> <f32>
  %y = updraft.sweep scalars(%k : f32) reads(%x, %1 : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32):
    %half = arith.constant 0.5 : f32
    %2 = arith.mulf %arg0, %arg1 : f32
    %3 = arith.mulf %arg2, %half : f32
    %4 = arith.subf %2, %3 : f32
    updraft.store make(%4 : f32)
  }
}

// -----

// No constant is the negative of a scalar.
// CHECK-LABEL: updraft.plan @NegativeScalar
// CHECK-NOT:     addend
// CHECK:         updraft.sweep
updraft.plan @NegativeScalar compute f32 matrix {
  %a = updraft.hyper "a" = 5.000000e-01
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k = updraft.prologue(%a) : (f64) -> f32 {
  ^bb0(%arg0: f64):
    %0 = arith.truncf %arg0 : f64 to f32
    updraft.yield %0 : f32
  }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %0 = updraft.multiply %gram, %grad : <f32, rows_by_rows>, <f32> -> <f32>
  %x = updraft.sweep scalars(%k : f32) reads(%grad, %0 : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32):
    %2 = arith.mulf %arg0, %arg2 : f32
    %3 = arith.subf %arg1, %2 : f32
    updraft.store make(%3 : f32)
  }
}

// -----

// Only a fast plan rounds the addend and the sum at once.
// CHECK-LABEL: updraft.plan @ExactFma
// CHECK-NOT:     addend
// CHECK:         math.fma
updraft.plan @ExactFma compute f32 matrix {
  %a = updraft.hyper "a" = 5.000000e-01
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k = updraft.prologue(%a) : (f64) -> f32 {
  ^bb0(%arg0: f64):
    %0 = arith.truncf %arg0 : f64 to f32
    updraft.yield %0 : f32
  }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %0 = updraft.multiply %gram, %grad : <f32, rows_by_rows>, <f32> -> <f32>
  %x = updraft.sweep scalars(%k : f32) reads(%grad, %0 : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32):
    %2 = math.fma %arg1, %arg0, %arg2 : f32
    updraft.store make(%2 : f32)
  }
}

// -----

// The product of a fast plan would round a scaled addend and the sum at once.
// CHECK-LABEL: updraft.plan @FastSum
// CHECK-NOT:     addend
// CHECK:         arith.addf
updraft.plan @FastSum compute f32 matrix fast {
  %a = updraft.hyper "a" = 5.000000e-01
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k = updraft.prologue(%a) : (f64) -> f32 {
  ^bb0(%arg0: f64):
    %0 = arith.truncf %arg0 : f64 to f32
    updraft.yield %0 : f32
  }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %0 = updraft.multiply %gram, %grad : <f32, rows_by_rows>, <f32> -> <f32>
  %x = updraft.sweep scalars(%k : f32) reads(%grad, %0 : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32):
    %2 = arith.mulf %arg1, %arg0 : f32
    %3 = arith.addf %2, %arg2 : f32
    updraft.store make(%3 : f32)
  }
}

// -----

// A factor is an element.
// CHECK-LABEL: updraft.plan @ElementFactor
// CHECK-NOT:     addend
// CHECK:         updraft.sweep
updraft.plan @ElementFactor compute f32 matrix {
  %a = updraft.hyper "a" = 5.000000e-01
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k = updraft.prologue(%a) : (f64) -> f32 {
  ^bb0(%arg0: f64):
    %0 = arith.truncf %arg0 : f64 to f32
    updraft.yield %0 : f32
  }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %0 = updraft.multiply %gram, %grad : <f32, rows_by_rows>, <f32> -> <f32>
  %x = updraft.sweep reads(%param, %grad, %0 : !updraft.stream<f32>, !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32, %arg2: f32):
    %2 = arith.mulf %arg2, %arg0 : f32
    %3 = arith.addf %2, %arg1 : f32
    updraft.store make(%3 : f32)
  }
}

// -----

// The first sum is made before the second product, which can then add it.
// CHECK-LABEL: updraft.plan @Chain
// CHECK:           %[[THREE:.*]] = arith.constant 3.000000e+00 : f32
// CHECK:         %[[S:.*]] = updraft.multiply %{{.*}}, %grad addend(%grad) :
// CHECK-NEXT:    updraft.multiply %{{.*}}, %param scale(%{{.*}}#1) addend(%[[S]]) :
// CHECK-NOT:     updraft.sweep
updraft.plan @Chain compute f32 matrix {
  %a = updraft.hyper "a" = 5.000000e-01
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k = updraft.prologue(%a) : (f64) -> f32 {
  ^bb0(%arg0: f64):
    %0 = arith.truncf %arg0 : f64 to f32
    updraft.yield %0 : f32
  }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %p1 = updraft.multiply %gram, %grad : <f32, rows_by_rows>, <f32> -> <f32>
  %p2 = updraft.multiply %gram, %param : <f32, rows_by_rows>, <f32> -> <f32>
  %s1 = updraft.sweep reads(%grad, %p1 : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.addf %arg0, %arg1 : f32
    updraft.store make(%0 : f32)
  }
  %s2 = updraft.sweep reads(%p2, %s1 : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32):
    %three = arith.constant 3.0 : f32
    %0 = arith.mulf %arg0, %three : f32
    %1 = arith.addf %0, %arg1 : f32
    updraft.store make(%1 : f32)
  }
}

// -----

// A sum without constants needs no prologue.
// CHECK-LABEL: updraft.plan @NoPrologue
// CHECK:         updraft.multiply %{{.*}}, %grad addend(%grad) :
// CHECK-NOT:     updraft.sweep
updraft.plan @NoPrologue compute f32 matrix {
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %gram = updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %p = updraft.multiply %gram, %grad : <f32, rows_by_rows>, <f32> -> <f32>
  %s = updraft.sweep reads(%grad, %p : !updraft.stream<f32>, !updraft.stream<f32>) -> !updraft.stream<f32> {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.addf %arg0, %arg1 : f32
    updraft.store make(%0 : f32)
  }
}
