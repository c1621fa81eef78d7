// RUN: updraft-opt %s | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -mlir-print-op-generic | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -emit-bytecode | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -emit-bytecode -o %t.bc
// RUN: not grep -a "updraft.elements" %t.bc

// CHECK-LABEL: func.func @accesses(
// CHECK-SAME:      !updraft.elements<bf16, 1>
// CHECK:         %[[E:.*]] = updraft.locate %{{.*}}[2] : !llvm.ptr -> <f32>
// CHECK:         %[[S:.*]] = updraft.scratch 512 : <f32>
// CHECK:         %[[R:.*]] = updraft.shift %[[S]][%[[I:.*]]] outside : <f32>, i64
// CHECK:         %[[X:.*]] = updraft.read %[[E]][%[[I]], %[[I]]] mask %[[M:.*]] alignment 16 : !updraft.elements<f32>, i64, i64, vector<8xi1> -> vector<8xf32>
// CHECK:         updraft.write %[[X]], %[[R]][%[[I]]] : vector<8xf32>, !updraft.elements<f32>, i64
// CHECK:         updraft.prefetch %[[E]][%[[I]]] : !updraft.elements<f32>, i64
func.func @accesses(%table: !llvm.ptr, %b: !updraft.elements<bf16, 1>, %i: i64, %m: vector<8xi1>) {
  %e = updraft.locate %table[2] : !llvm.ptr -> !updraft.elements<f32>
  %s = updraft.scratch 512 : !updraft.elements<f32>
  %r = updraft.shift %s[%i] outside : !updraft.elements<f32>, i64
  %x = updraft.read %e[%i, %i] mask %m alignment 16
      : !updraft.elements<f32>, i64, i64, vector<8xi1> -> vector<8xf32>
  updraft.write %x, %r[%i] : vector<8xf32>, !updraft.elements<f32>, i64
  updraft.prefetch %e[%i] : !updraft.elements<f32>, i64
  return
}
