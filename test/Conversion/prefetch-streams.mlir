// Values that a loop loads some iterations later are prefetched, once for each stream.
// RUN: updraft-opt %s --updraft-prefetch-streams="distance=256" | FileCheck %s
// RUN: updraft-opt %s --updraft-prefetch-streams="distance=256" \
// RUN:     --updraft-pipeline-loops="vector-bits=256 window=8" | FileCheck %s --check-prefix=HALVES

// Two loads of one stream need one prefetch, and a store needs none. Prefetches stay inside a
// stream that is shorter than the distance.
// CHECK-LABEL: func.func @streams(
// CHECK-SAME:      %[[P:.*]]: !llvm.ptr, %[[Q:.*]]: !llvm.ptr, %[[R:.*]]: !llvm.ptr, %[[BEGIN:[a-z0-9]+]]: i64,
// CHECK:         %[[C8:.*]] = arith.constant 8 : i64
// CHECK:         %[[END:.*]] = arith.addi %[[BEGIN]], %{{.*}}
// CHECK:         %[[LENGTH:.*]] = arith.subi %[[END]], %[[BEGIN]]
// CHECK:         %[[SHORT:.*]] = arith.cmpi slt, %[[LENGTH]], %c256_i64
// CHECK:         %[[OWN:.*]] = arith.subi %[[END]], %[[C8]]
// CHECK:         %[[LAST:.*]] = arith.select %[[SHORT]], %[[OWN]], %c9223372036854775807_i64
// CHECK:         scf.for %[[I:.*]] = %[[BEGIN]] to %[[END]]
// CHECK:           %[[AHEAD:.*]] = arith.addi %[[I]], %c256_i64
// CHECK:           %[[PLACE:.*]] = arith.minsi %[[AHEAD]], %[[LAST]]
// CHECK:           %[[AT:.*]] = llvm.getelementptr %[[P]][%[[PLACE]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK:           "llvm.intr.prefetch"(%[[AT]]) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}>
// CHECK:           llvm.load
// CHECK:           %[[AT:.*]] = llvm.getelementptr %[[Q]][%[[PLACE]]] : (!llvm.ptr, i64) -> !llvm.ptr, i16
// CHECK:           "llvm.intr.prefetch"(%[[AT]])
// CHECK:           llvm.load
// CHECK-NOT:       prefetch
// CHECK:         return
//
// The prefetch is in the half that loads.
// HALVES-LABEL: func.func @streams(
// HALVES:         scf.while
// HALVES:           prefetch
// HALVES:           prefetch
// HALVES-NOT:       prefetch
// HALVES:           scf.condition
// HALVES-NOT:     prefetch
// HALVES:       func.func
func.func @streams(%p: !llvm.ptr, %q: !llvm.ptr, %r: !llvm.ptr, %begin: i64, %end: i64, %d: vector<8xf32>) {
  %c8 = arith.constant 8 : i64
  %mask = arith.constant -8 : i64
  %length = arith.subi %end, %begin : i64
  %whole = arith.andi %length, %mask : i64
  %upper = arith.addi %begin, %whole : i64
  scf.for %i = %begin to %upper step %c8 : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %1 = llvm.getelementptr inbounds %q[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i16
    %bits = llvm.load %1 {alignment = 2 : i64} : !llvm.ptr -> vector<8xi16>
    %2 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %y = llvm.load %2 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %wide = arith.extui %bits : vector<8xi16> to vector<8xi32>
    %z = arith.uitofp %wide : vector<8xi32> to vector<8xf32>
    %root = math.sqrt %z : vector<8xf32>
    %3 = arith.divf %root, %d : vector<8xf32>
    %4 = arith.addf %x, %3 : vector<8xf32>
    %5 = arith.mulf %4, %y : vector<8xf32>
    %6 = llvm.getelementptr inbounds %r[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %5, %6 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  }
  return
}

// Rows are contiguous: after the end of a row the next one is prefetched. Local memory counts as a
// stream, except values that every iteration loads.
// CHECK-LABEL: func.func @rows(
// CHECK:         scf.for %[[ROW:.*]] =
// CHECK:           %[[ORIGIN:.*]] = arith.muli %[[ROW]]
// CHECK:           scf.for %[[I:.*]] =
// CHECK:             %[[AHEAD:.*]] = arith.addi %[[I]], %c256_i64
// CHECK:             %[[PLACE:.*]] = arith.addi %[[ORIGIN]], %[[AHEAD]]
// CHECK:             llvm.getelementptr %arg0[%[[PLACE]]]
// CHECK:             prefetch
// CHECK:             llvm.load
// CHECK:             prefetch
// CHECK-NOT:         prefetch
// CHECK:         return
func.func @rows(%p: !llvm.ptr, %same: !llvm.ptr, %rows: i64, %columns: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c8 = arith.constant 8 : i64
  %own = llvm.alloca %c8 x f32 : (i64) -> !llvm.ptr
  scf.for %row = %c0 to %rows step %c1 : i64 {
    %origin = arith.muli %row, %columns : i64
    scf.for %i = %c0 to %columns step %c8 : i64 {
      %0 = arith.addi %origin, %i : i64
      %1 = llvm.getelementptr inbounds %p[%0] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %x = llvm.load %1 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %2 = llvm.getelementptr inbounds %own[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %y = llvm.load %2 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %z = llvm.load %same {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %3 = arith.addf %x, %y : vector<8xf32>
      %4 = arith.addf %3, %z : vector<8xf32>
      llvm.store %4, %1 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    }
  }
  return
}

// A block belongs to the stream of the surrounding loop.
// CHECK-LABEL: func.func @blocks(
// CHECK-SAME:      %[[P:.*]]: !llvm.ptr, %[[BEGIN:[a-z0-9]+]]: i64, %[[END:[a-z0-9]+]]: i64
// CHECK:         scf.for %[[BLOCK:.*]] = %[[BEGIN]] to %[[END]]
// CHECK:           arith.subi %[[END]], %[[BEGIN]]
// CHECK:           scf.for
// CHECK:             prefetch
func.func @blocks(%p: !llvm.ptr, %begin: i64, %end: i64) {
  %c8 = arith.constant 8 : i64
  %c256 = arith.constant 256 : i64
  scf.for %block = %begin to %end step %c256 : i64 {
    %upper = arith.addi %block, %c256 : i64
    scf.for %i = %block to %upper step %c8 : i64 {
      %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      llvm.store %x, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    }
  }
  return
}

// Nothing is known about numbers with another width than the elements.
// CHECK-LABEL: func.func @narrow(
// CHECK-NOT:     prefetch
// CHECK:         return
func.func @narrow(%p: !llvm.ptr, %begin: i32, %end: i32) {
  %c8 = arith.constant 8 : i32
  scf.for %i = %begin to %end step %c8 : i32 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    llvm.store %x, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  }
  return
}
