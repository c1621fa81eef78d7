// The loops of a sweep: scalars are loaded and broadcast before them, and an iteration reads
// everything before it writes. The remainder of a tensor is masked, or computed element by element.
// RUN: updraft-opt %s --convert-updraft-plan-to-loops="vector-bits=256 mask-remainder=true" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,MASK
// RUN: updraft-opt %s --convert-updraft-plan-to-loops="vector-bits=256 mask-remainder=false" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,SCALAR

updraft.plan @Flagged compute f32 {
  %lr = updraft.hyper "lr" = 1.000000e-03
  %first = updraft.first
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %k:2 = updraft.prologue(%lr, %first) : (f64, i1) -> (f32, i1) {
  ^bb0(%a: f64, %f: i1):
    %0 = arith.truncf %a : f64 to f32
    updraft.yield %0, %f : f32, i1
  }
  updraft.sweep scalars(%k#1, %k#0 : i1, f32)
      reads(%p, %g : !updraft.stream<f32>, !updraft.stream<f32>)
      writes(%p : !updraft.stream<f32>) {
  ^bb0(%f: i1, %s: f32, %pe: f32, %ge: f32):
    %two = arith.constant 2.000000e+00 : f32
    %0 = arith.mulf %s, %ge : f32
    %1 = arith.divf %0, %two : f32
    %2 = arith.select %f, %ge, %1 : f32
    %3 = arith.subf %pe, %2 : f32
    updraft.store %3 : f32
  }
}

// CHECK-LABEL: func.func @Flagged_sweep0(
// CHECK-SAME:      %[[ROW:[a-z0-9_]+]]: !llvm.ptr, %[[STREAMS:[a-z0-9_]+]]: !llvm.ptr, %[[RANGES:[a-z0-9_]+]]: !llvm.ptr,
// CHECK-SAME:      %[[COUNT:[a-z0-9_]+]]: i64, %{{[a-z0-9_]+}}: !llvm.ptr, %{{[a-z0-9_]+}}: !llvm.ptr) {
//
// Row slot 0 is the skip flag, so the flag is in slot 2 and the scalar in slot 1.
// CHECK:         %[[FLAG_AT:.*]] = llvm.getelementptr inbounds %[[ROW]][2] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK:         %[[FLAG_ROW:.*]] = llvm.load %[[FLAG_AT]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK:         %[[FLAG:.*]] = arith.cmpf une, %[[FLAG_ROW]], %{{.*}} : f32
// CHECK:         %[[SCALAR_AT:.*]] = llvm.getelementptr inbounds %[[ROW]][1] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK:         %[[SCALAR:.*]] = llvm.load %[[SCALAR_AT]]
// CHECK:         %[[FLAGS:.*]] = vector.broadcast %[[FLAG]] : i1 to vector<8xi1>
// CHECK:         %[[SCALARS:.*]] = vector.broadcast %[[SCALAR]] : f32 to vector<8xf32>
//
// Each tensor has two streams and one range.
// CHECK:         scf.for %[[N:.*]] = %{{.*}} to %[[COUNT]] step %{{.*}}  : i64 {
// CHECK:         %[[TWO_STREAMS:.*]] = arith.constant 2 : i64
// CHECK:         %[[TENSOR:.*]] = arith.muli %[[N]], %[[TWO_STREAMS]] : i64
// CHECK:         %[[TENSOR_AT:.*]] = llvm.getelementptr inbounds %[[STREAMS]][%[[TENSOR]]] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
// CHECK:         %[[P:.*]] = updraft.locate %[[TENSOR_AT]][0] : !llvm.ptr -> <f32>
// CHECK:         %[[G:.*]] = updraft.locate %[[TENSOR_AT]][1] : !llvm.ptr -> <f32>
// CHECK:         %[[RANGE_AT:.*]] = llvm.getelementptr inbounds %[[RANGES]][%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, i64
// CHECK:         %[[BEGIN:.*]] = llvm.load %[[RANGE_AT]]
// CHECK:         %[[END_AT:.*]] = llvm.getelementptr inbounds %[[RANGE_AT]][1]
// CHECK:         %[[END:.*]] = llvm.load %[[END_AT]]
//
// CHECK:         %[[LENGTH:.*]] = arith.subi %[[END]], %[[BEGIN]] : i64
// CHECK:         %[[MINUS_LANES:.*]] = arith.constant -8 : i64
// CHECK:         %[[WHOLE:.*]] = arith.andi %[[LENGTH]], %[[MINUS_LANES]] : i64
// CHECK:         %[[MIDDLE:.*]] = arith.addi %[[BEGIN]], %[[WHOLE]] : i64
// CHECK:         scf.for %[[I:.*]] = %[[BEGIN]] to %[[MIDDLE]] step %{{.*}}  : i64 {
// CHECK:           %[[PV:.*]] = updraft.read %[[P]][%[[I]]] : !updraft.elements<f32>, i64 -> vector<8xf32>
// CHECK:           %[[GV:.*]] = updraft.read %[[G]][%[[I]]] : !updraft.elements<f32>, i64 -> vector<8xf32>
// CHECK:           %[[TWO:.*]] = arith.constant dense<2.000000e+00> : vector<8xf32>
// CHECK:           %[[SG:.*]] = arith.mulf %[[SCALARS]], %[[GV]] : vector<8xf32>
// CHECK:           %[[HALF:.*]] = arith.divf %[[SG]], %[[TWO]] : vector<8xf32>
// CHECK:           %[[D:.*]] = arith.select %[[FLAGS]], %[[GV]], %[[HALF]] : vector<8xi1>, vector<8xf32>
// CHECK:           %[[NEXT:.*]] = arith.subf %[[PV]], %[[D]] : vector<8xf32>
// CHECK:           updraft.write %[[NEXT]], %[[P]][%[[I]]] : vector<8xf32>, !updraft.elements<f32>, i64
// CHECK-NEXT:    }
//
// MASK:          %[[LEFT:.*]] = arith.subi %[[LENGTH]], %[[WHOLE]] : i64
// MASK:          %[[SOME:.*]] = arith.cmpi ne, %[[LEFT]], %{{.*}} : i64
// MASK:          scf.if %[[SOME]] {
// MASK:            %[[LANES:.*]] = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi32>
// MASK:            %[[MASK:.*]] = arith.cmpi ult, %[[LANES]], %{{.*}} : vector<8xi32>
// MASK:            updraft.read %[[P]][%[[MIDDLE]]] mask %[[MASK]] : !updraft.elements<f32>, i64, vector<8xi1> -> vector<8xf32>
// MASK:            updraft.read %[[G]][%[[MIDDLE]]] mask %[[MASK]] : !updraft.elements<f32>, i64, vector<8xi1> -> vector<8xf32>
// MASK:            %[[LAST:.*]] = arith.subf {{.*}} : vector<8xf32>
// MASK:            updraft.write %[[LAST]], %[[P]][%[[MIDDLE]]] mask %[[MASK]] : vector<8xf32>, !updraft.elements<f32>, i64, vector<8xi1>
// MASK-NOT:      scf.for
//
// SCALAR:        scf.for %[[J:.*]] = %[[MIDDLE]] to %[[END]] step %{{.*}}  : i64 {
// SCALAR:          updraft.read %[[P]][%[[J]]] : !updraft.elements<f32>, i64 -> f32
// SCALAR:          arith.select %[[FLAG]], %{{.*}}, %{{.*}} : f32
// SCALAR:          updraft.write %{{.*}}, %[[P]][%[[J]]] : f32, !updraft.elements<f32>, i64
// SCALAR-NOT:    mask
