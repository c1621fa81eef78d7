// Loops that add to sums in memory of the function are pipelined, too.
// RUN: updraft-opt %s --split-input-file \
// RUN:     --updraft-pipeline-loops="vector-bits=256 window=8" | FileCheck %s

// A sum in scratch memory is read and written by one half: that of the gradient by the first, that
// of the quotient by the second.
// CHECK-LABEL: func.func @sums(
// CHECK:         %[[A:.*]] = updraft.scratch 128
// CHECK:         %[[B:.*]] = updraft.scratch 128
// CHECK:             scf.while (%[[I:[a-z0-9]+]] =
// CHECK:               %[[LANE:.*]] = arith.andi %[[I]], %{{.*}}
// CHECK:               %[[A0:.*]] = updraft.read %[[A]][%[[LANE]]]
// CHECK:               %[[X:.*]] = updraft.read %{{.*}}[%[[I]]] :
// CHECK:               %[[A1:.*]] = arith.addf %[[A0]], %[[X]]
// CHECK:               updraft.write %[[A1]], %[[A]][%[[LANE]]]
// CHECK:               %[[PREVIOUS:.*]] = arith.subi %[[I]]
// CHECK:               %[[LANE:.*]] = arith.andi %[[PREVIOUS]], %{{.*}}
// CHECK:               %[[QUOTIENT:.*]] = arith.divf
// CHECK:               %[[B0:.*]] = updraft.read %[[B]][%[[LANE]]]
// CHECK:               %[[B1:.*]] = arith.addf %[[B0]], %[[QUOTIENT]]
// CHECK:               updraft.write %[[B1]], %[[B]][%[[LANE]]]
// CHECK:               scf.condition
func.func @sums(%p: !updraft.elements<f32>, %begin: i64, %length: i64) {
  %a = updraft.scratch 128 : !updraft.elements<f32>
  %b = updraft.scratch 128 : !updraft.elements<f32>
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  %c127 = arith.constant 127 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %lane = arith.andi %i, %c127 : i64
    %a0 = updraft.read %a[%lane] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %a1 = arith.addf %a0, %x : vector<8xf32>
    updraft.write %a1, %a[%lane] : vector<8xf32>, !updraft.elements<f32>, i64
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %x : vector<8xf32>
    %b0 = updraft.read %b[%lane] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %b1 = arith.addf %b0, %quotient : vector<8xf32>
    updraft.write %b1, %b[%lane] : vector<8xf32>, !updraft.elements<f32>, i64
    updraft.write %quotient, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
  }
  return
}

// -----

// The halves would add to one sum in another order: both of its shifts are the same memory.
// CHECK-LABEL: func.func @shifted_sums(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @shifted_sums(%p: !updraft.elements<f32>, %begin: i64, %length: i64, %n: i64) {
  %a = updraft.scratch 128 : !updraft.elements<f32>
  %b = updraft.shift %a[%n] : !updraft.elements<f32>, i64
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  %c127 = arith.constant 127 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %lane = arith.andi %i, %c127 : i64
    %a0 = updraft.read %a[%lane] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %a1 = arith.addf %a0, %x : vector<8xf32>
    updraft.write %a1, %a[%lane] : vector<8xf32>, !updraft.elements<f32>, i64
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %x : vector<8xf32>
    %b0 = updraft.read %b[%lane] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %b1 = arith.addf %b0, %quotient : vector<8xf32>
    updraft.write %b1, %b[%lane] : vector<8xf32>, !updraft.elements<f32>, i64
    updraft.write %quotient, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
  }
  return
}
