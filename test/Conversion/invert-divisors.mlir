// Roots over a scalar become products with its reciprocal, if that gives the same bits.
// RUN: updraft-opt %s --updraft-invert-divisors | FileCheck %s

// CHECK-LABEL: func.func @roots(
// CHECK-SAME:      %{{.*}}: !llvm.ptr, %[[S:.*]]: f32,
// CHECK:         %[[D:.*]] = vector.broadcast %[[S]]
// CHECK:         %[[LEAST:.*]] = arith.constant 5.96046448E-8 : f32
// CHECK:         %[[LARGE:.*]] = arith.cmpf oge, %[[S]], %[[LEAST]]
// CHECK:         %[[MOST:.*]] = arith.constant 0x4B800000 : f32
// CHECK:         %[[SMALL:.*]] = arith.cmpf ole, %[[S]], %[[MOST]]
// CHECK:         %[[ORDINARY:.*]] = arith.andi %[[LARGE]], %[[SMALL]]
// CHECK:         %[[R:.*]] = arith.divf %{{.*}}, %[[S]] : f32
// CHECK:         %[[N:.*]] = arith.negf %[[S]] : f32
// CHECK:         %[[INVERSE:.*]] = vector.broadcast %[[R]]
// CHECK:         %[[NEGATIVE:.*]] = vector.broadcast %[[N]]
// CHECK:         %[[LAST:.*]] = scf.if %[[ORDINARY]] -> (vector<8xf32>) {
// CHECK:           %[[RESULT:.*]] = scf.for
// CHECK:             %[[ROOT:.*]] = math.sqrt
// CHECK:             %[[ESTIMATE:.*]] = arith.mulf %[[ROOT]], %[[INVERSE]]
// CHECK:             %[[REMAINDER:.*]] = math.fma %[[NEGATIVE]], %[[ESTIMATE]], %[[ROOT]]
// CHECK:             %[[NEAREST:.*]] = math.fma %[[REMAINDER]], %[[INVERSE]], %[[ESTIMATE]]
// CHECK:             %[[HAS:.*]] = arith.cmpf one, %[[REMAINDER]], %{{.*}}
// CHECK:             %[[QUOTIENT:.*]] = arith.select %[[HAS]], %[[NEAREST]], %[[ESTIMATE]]
// CHECK:             arith.addf %[[QUOTIENT]], %[[QUOTIENT]]
// CHECK:           scf.yield %[[RESULT]]
// CHECK:         } else {
// CHECK:           %[[RESULT:.*]] = scf.for
// CHECK-NOT:         fma
// CHECK:             arith.divf %{{.*}}, %[[D]]
// CHECK:           scf.yield %[[RESULT]]
// CHECK:         return %[[LAST]]
func.func @roots(%p: !llvm.ptr, %s: f32, %begin: i64, %length: i64, %none: vector<8xf32>) -> vector<8xf32> {
  %d = vector.broadcast %s : f32 to vector<8xf32>
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  %sum = scf.for %i = %begin to %end step %c8 iter_args(%before = %none) -> (vector<8xf32>) : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %q = arith.divf %root, %d : vector<8xf32>
    %y = arith.addf %q, %q : vector<8xf32>
    llvm.store %y, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    %after = arith.addf %before, %root : vector<8xf32>
    scf.yield %after : vector<8xf32>
  }
  return %sum : vector<8xf32>
}

// Two divisors must both be ordinary numbers.
// CHECK-LABEL: func.func @two(
// CHECK:         %[[ONE:.*]] = arith.andi
// CHECK:         %[[OTHER:.*]] = arith.andi
// CHECK:         %[[BOTH:.*]] = arith.andi %[[ONE]], %[[OTHER]]
// CHECK:         scf.if %[[BOTH]] {
func.func @two(%p: !llvm.ptr, %s: f32, %t: f32, %end: i64) {
  %d = vector.broadcast %s : f32 to vector<8xf32>
  %e = vector.broadcast %t : f32 to vector<8xf32>
  %c0 = arith.constant 0 : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %c0 to %end step %c8 : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %1 = arith.divf %root, %d : vector<8xf32>
    %2 = arith.divf %root, %e : vector<8xf32>
    %y = arith.addf %1, %2 : vector<8xf32>
    llvm.store %y, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  }
  return
}

// Still divided: operands with the full range of f32, f64, division by a vector, and a single
// division.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     scf.if
// CHECK-COUNT-3: arith.divf
// CHECK-NOT:     scf.if
// CHECK:         arith.divf
// CHECK:         return
func.func @others(%p: !llvm.ptr, %s: f32, %y: vector<4xf64>, %t: f64, %end: i64)
    -> vector<8xf32> {
  %d = vector.broadcast %s : f32 to vector<8xf32>
  %e = vector.broadcast %t : f64 to vector<4xf64>
  %c0 = arith.constant 0 : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %c0 to %end step %c8 : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %1 = arith.divf %x, %d : vector<8xf32>
    %root = math.sqrt %1 : vector<8xf32>
    %2 = arith.divf %root, %x : vector<8xf32>
    llvm.store %2, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    %wide = math.sqrt %y : vector<4xf64>
    %3 = arith.divf %wide, %e : vector<4xf64>
    %4 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f64
    llvm.store %3, %4 {alignment = 8 : i64} : vector<4xf64>, !llvm.ptr
  }
  %root = math.sqrt %d : vector<8xf32>
  %5 = arith.divf %root, %d : vector<8xf32>
  return %5 : vector<8xf32>
}
