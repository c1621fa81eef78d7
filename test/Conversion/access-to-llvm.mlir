// Accesses of elements become loads and stores at the address of the first one.
// RUN: updraft-opt %s --convert-updraft-loops-to-llvm | FileCheck %s

// CHECK-LABEL: llvm.func @located(%arg0: !llvm.ptr)
// CHECK:         %[[ENTRY:.*]] = llvm.getelementptr inbounds %arg0[3] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK:         %[[P:.*]] = llvm.load %[[ENTRY]] {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
// CHECK:         llvm.return %[[P]] : !llvm.ptr
func.func @located(%table: !llvm.ptr) -> !updraft.elements<f32> {
  %e = updraft.locate %table[3] : !llvm.ptr -> !updraft.elements<f32>
  return %e : !updraft.elements<f32>
}

// CHECK-LABEL: llvm.func @spaces(%arg0: !llvm.ptr<1>)
// CHECK:         llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> !llvm.ptr<1>
func.func @spaces(%table: !llvm.ptr<1>) -> !updraft.elements<i8, 1> {
  %e = updraft.locate %table[0] : !llvm.ptr<1> -> !updraft.elements<i8, 1>
  return %e : !updraft.elements<i8, 1>
}

// The number of an element is the sum of the indices. Without an alignment, an access has that of
// one element.
// CHECK-LABEL: llvm.func @sums(
// CHECK-SAME:      %[[E:.*]]: !llvm.ptr, %[[ORIGIN:.*]]: i64, %[[I:.*]]: i64)
// CHECK:         %[[NUMBER:.*]] = llvm.add %[[ORIGIN]], %[[I]] : i64
// CHECK:         %[[AT:.*]] = llvm.getelementptr inbounds %[[E]][%[[NUMBER]]] : (!llvm.ptr, i64) -> !llvm.ptr, i16
// CHECK:         %[[X:.*]] = llvm.load %[[AT]] {alignment = 2 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK:         llvm.store %[[X]], %{{.*}} {alignment = 16 : i64}
func.func @sums(%e: !updraft.elements<i16>, %origin: i64, %i: i64) {
  %x = updraft.read %e[%origin, %i] : !updraft.elements<i16>, i64, i64 -> vector<8xi16>
  updraft.write %x, %e[%i] alignment 16 : vector<8xi16>, !updraft.elements<i16>, i64
  return
}

// CHECK-LABEL: llvm.func @masks(
// CHECK:         %[[ZERO:.*]] = llvm.mlir.constant(dense<0.000000e+00> : vector<8xf32>)
// CHECK:         %[[X:.*]] = llvm.intr.masked.load %{{.*}}, %[[MASK:.*]], %[[ZERO]] {alignment = 4 : i32}
// CHECK:         llvm.intr.masked.store %[[X]], %{{.*}}, %[[MASK]] {alignment = 4 : i32}
func.func @masks(%e: !updraft.elements<f32>, %i: i32, %m: vector<8xi1>) {
  %x = updraft.read %e[%i] mask %m : !updraft.elements<f32>, i32, vector<8xi1> -> vector<8xf32>
  updraft.write %x, %e[%i] mask %m : vector<8xf32>, !updraft.elements<f32>, i32, vector<8xi1>
  return
}

// An address that may lie outside of the memory is not `inbounds`.
// CHECK-LABEL: llvm.func @shifts(
// CHECK-SAME:      %[[E:.*]]: !llvm.ptr, %[[N:.*]]: i64)
// CHECK:         %[[ROW:.*]] = llvm.getelementptr inbounds %[[E]][%[[N]]]
// CHECK:         llvm.getelementptr inbounds %[[ROW]][%[[N]]]
// CHECK:         llvm.load
// CHECK:         %[[BEFORE:.*]] = llvm.getelementptr %[[E]][%[[N]]]
// CHECK:         llvm.getelementptr %[[BEFORE]][%[[N]]]
// CHECK:         llvm.load
func.func @shifts(%e: !updraft.elements<f64>, %n: i64) -> f64 {
  %row = updraft.shift %e[%n] : !updraft.elements<f64>, i64
  %x = updraft.read %row[%n] : !updraft.elements<f64>, i64 -> f64
  %before = updraft.shift %e[%n] outside : !updraft.elements<f64>, i64
  %y = updraft.read %before[%n] : !updraft.elements<f64>, i64 -> f64
  %z = arith.addf %x, %y : f64
  return %z : f64
}

// The address is not `inbounds` either where a shift follows, or where the memory is not known.
// CHECK-LABEL: llvm.func @unknown(
// CHECK-NOT:     inbounds
// CHECK:         llvm.return
func.func @unknown(%e: !updraft.elements<f64>, %n: i64, %c: i1) -> f64 {
  %before = updraft.shift %e[%n] outside : !updraft.elements<f64>, i64
  %again = updraft.shift %before[%n] : !updraft.elements<f64>, i64
  %x = updraft.read %again[%n] : !updraft.elements<f64>, i64 -> f64
  %any = arith.select %c, %e, %before : !updraft.elements<f64>
  %y = updraft.read %any[%n] : !updraft.elements<f64>, i64 -> f64
  %z = arith.addf %x, %y : f64
  return %z : f64
}

// CHECK-LABEL: llvm.func @scratch(
// CHECK:         %[[ONE:.*]] = llvm.mlir.constant(1 : i64) : i64
// CHECK:         %[[E:.*]] = llvm.alloca %[[ONE]] x !llvm.array<512 x f32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
// CHECK:         %[[AT:.*]] = llvm.getelementptr %[[E]][%arg0] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK:         "llvm.intr.prefetch"(%[[AT]]) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}>
func.func @scratch(%i: i64) {
  %e = updraft.scratch 512 : !updraft.elements<f32>
  updraft.prefetch %e[%i] : !updraft.elements<f32>, i64
  return
}
