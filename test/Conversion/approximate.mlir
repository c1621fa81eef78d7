// Quotients and roots of f32 in the sweeps of a `fast` plan, but not in other plans or in
// prologues.
// RUN: updraft-opt %s --updraft-approximate --split-input-file | FileCheck %s

// CHECK-LABEL: updraft.plan @Marked compute f32 fast {
// CHECK:         updraft.prologue
// CHECK:           math.sqrt %{{.*}} : f64
// CHECK:           arith.divf %{{.*}} : f64
// CHECK:         updraft.sweep
// CHECK:         ^bb0(%[[S:.*]]: f32, %[[P:.*]]: f32, %[[G:.*]]: f32):
// CHECK-NEXT:      %[[ROOT:.*]] = math.sqrt %[[G]] fastmath<afn> : f32
// CHECK-NEXT:      %[[SUM:.*]] = arith.addf %[[ROOT]], %[[S]] : f32
// CHECK-NEXT:      %[[QUOTIENT:.*]] = arith.divf %[[P]], %[[SUM]] fastmath<afn> : f32
// A root that is only used as a divisor.
// CHECK-NEXT:      %[[INVERSE:.*]] = math.rsqrt %[[SUM]] fastmath<afn> : f32
// CHECK-NEXT:      %[[PRODUCT:.*]] = arith.mulf %[[QUOTIENT]], %[[INVERSE]] : f32
// A root with two uses.
// CHECK-NEXT:      %[[SHARED:.*]] = math.sqrt %[[P]] fastmath<afn> : f32
// CHECK-NEXT:      %[[BY_SHARED:.*]] = arith.divf %[[PRODUCT]], %[[SHARED]] fastmath<afn> : f32
// CHECK-NEXT:      arith.addf %[[BY_SHARED]], %[[SHARED]] : f32
// Operations that are expanded later.
// CHECK:           %[[EXP:.*]] = math.exp %{{.*}} : f32
// CHECK-NEXT:      updraft.store %[[EXP]] : f32
updraft.plan @Marked compute f32 fast {
  %lr = updraft.hyper "lr" = 1.0
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %s = updraft.prologue(%lr) : (f64) -> f32 {
  ^bb0(%a: f64):
    %0 = math.sqrt %a : f64
    %1 = arith.divf %a, %0 : f64
    %2 = arith.truncf %1 : f64 to f32
    updraft.yield %2 : f32
  }
  updraft.sweep scalars(%s : f32)
      reads(%p, %g : !updraft.stream<f32>, !updraft.stream<f32>)
      writes(%p : !updraft.stream<f32>) {
  ^bb0(%se: f32, %pe: f32, %ge: f32):
    %root = math.sqrt %ge : f32
    %sum = arith.addf %root, %se : f32
    %quotient = arith.divf %pe, %sum : f32
    %other = math.sqrt %sum : f32
    %byRoot = arith.divf %quotient, %other : f32
    %shared = math.sqrt %pe : f32
    %byShared = arith.divf %byRoot, %shared : f32
    %next = arith.addf %byShared, %shared : f32
    %wide = arith.extf %next : f32 to f64
    %narrow = arith.truncf %wide : f64 to f32
    %exp = math.exp %narrow : f32
    updraft.store %exp : f32
  }
}

// -----

// CHECK-LABEL: updraft.plan @Strict
// CHECK-NOT:     fastmath
updraft.plan @Strict compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep
      reads(%p, %g : !updraft.stream<f32>, !updraft.stream<f32>)
      writes(%p : !updraft.stream<f32>) {
  ^bb0(%pe: f32, %ge: f32):
    %root = math.sqrt %ge : f32
    %next = arith.divf %pe, %root : f32
    updraft.store %next : f32
  }
}

// -----

// There are no such instructions for f64.
// CHECK-LABEL: updraft.plan @InF64
// CHECK-NOT:     fastmath
updraft.plan @InF64 compute f64 fast {
  %p = updraft.stream "param" : !updraft.stream<f64>
  %g = updraft.stream "grad" : !updraft.stream<f64>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep
      reads(%p, %g : !updraft.stream<f64>, !updraft.stream<f64>)
      writes(%p : !updraft.stream<f64>) {
  ^bb0(%pe: f64, %ge: f64):
    %root = math.sqrt %ge : f64
    %next = arith.divf %pe, %root : f64
    updraft.store %next : f64
  }
}
