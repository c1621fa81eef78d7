// Elements that a loop reads some iterations later are prefetched, once for each stream.
// RUN: updraft-opt %s --updraft-prefetch-streams="distance=256" | FileCheck %s
// RUN: updraft-opt %s --updraft-prefetch-streams="distance=256" \
// RUN:     --updraft-pipeline-loops="vector-bits=256 window=8" | FileCheck %s --check-prefix=HALVES

// Two reads of one stream need one prefetch, and a write needs none. Prefetches stay inside a
// stream that is shorter than the distance.
// CHECK-LABEL: func.func @streams(
// CHECK-SAME:      %[[P:.*]]: !updraft.elements<f32>, %[[Q:.*]]: !updraft.elements<i16>, %[[R:.*]]: !updraft.elements<f32>, %[[BEGIN:[a-z0-9]+]]: i64,
// CHECK:         %[[C8:.*]] = arith.constant 8 : i64
// CHECK:         %[[END:.*]] = arith.addi %[[BEGIN]], %{{.*}}
// CHECK:         %[[LENGTH:.*]] = arith.subi %[[END]], %[[BEGIN]]
// CHECK:         %[[SHORT:.*]] = arith.cmpi slt, %[[LENGTH]], %c256_i64
// CHECK:         %[[OWN:.*]] = arith.subi %[[END]], %[[C8]]
// CHECK:         %[[LAST:.*]] = arith.select %[[SHORT]], %[[OWN]], %c9223372036854775807_i64
// CHECK:         scf.for %[[I:.*]] = %[[BEGIN]] to %[[END]]
// CHECK:           %[[AHEAD:.*]] = arith.addi %[[I]], %c256_i64
// CHECK:           %[[PLACE:.*]] = arith.minsi %[[AHEAD]], %[[LAST]]
// CHECK:           updraft.prefetch %[[P]][%[[PLACE]]] : !updraft.elements<f32>, i64
// CHECK:           updraft.read
// CHECK:           updraft.prefetch %[[Q]][%[[PLACE]]] : !updraft.elements<i16>, i64
// CHECK:           updraft.read
// CHECK-NOT:       prefetch
// CHECK:         return
//
// The prefetch is in the half that reads.
// HALVES-LABEL: func.func @streams(
// HALVES:         scf.while
// HALVES:           prefetch
// HALVES:           prefetch
// HALVES-NOT:       prefetch
// HALVES:           scf.condition
// HALVES-NOT:     prefetch
// HALVES:       func.func
func.func @streams(%p: !updraft.elements<f32>, %q: !updraft.elements<i16>, %r: !updraft.elements<f32>, %begin: i64, %end: i64, %d: vector<8xf32>) {
  %c8 = arith.constant 8 : i64
  %mask = arith.constant -8 : i64
  %length = arith.subi %end, %begin : i64
  %whole = arith.andi %length, %mask : i64
  %upper = arith.addi %begin, %whole : i64
  scf.for %i = %begin to %upper step %c8 : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %bits = updraft.read %q[%i] : !updraft.elements<i16>, i64 -> vector<8xi16>
    %y = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %wide = arith.extui %bits : vector<8xi16> to vector<8xi32>
    %z = arith.uitofp %wide : vector<8xi32> to vector<8xf32>
    %root = math.sqrt %z : vector<8xf32>
    %3 = arith.divf %root, %d : vector<8xf32>
    %4 = arith.addf %x, %3 : vector<8xf32>
    %5 = arith.mulf %4, %y : vector<8xf32>
    updraft.write %5, %r[%i] : vector<8xf32>, !updraft.elements<f32>, i64
  }
  return
}

// Rows are contiguous: after the end of a row the next one is prefetched. Scratch memory counts as a
// stream, except values that every iteration reads.
// CHECK-LABEL: func.func @rows(
// CHECK:         %[[OWN:.*]] = updraft.scratch
// CHECK:         scf.for %[[ROW:.*]] =
// CHECK:           %[[ORIGIN:.*]] = arith.muli %[[ROW]]
// CHECK:           scf.for %[[I:.*]] =
// CHECK:             %[[AHEAD:.*]] = arith.addi %[[I]], %c256_i64
// CHECK:             updraft.prefetch %arg0[%[[ORIGIN]], %[[AHEAD]]]
// CHECK:             updraft.read
// CHECK:             updraft.prefetch %[[OWN]]
// CHECK-NOT:         prefetch
// CHECK:         return
func.func @rows(%p: !updraft.elements<f32>, %same: !updraft.elements<f32>, %rows: i64, %columns: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c8 = arith.constant 8 : i64
  %own = updraft.scratch 8 : !updraft.elements<f32>
  scf.for %row = %c0 to %rows step %c1 : i64 {
    %origin = arith.muli %row, %columns : i64
    scf.for %i = %c0 to %columns step %c8 : i64 {
      %x = updraft.read %p[%origin, %i] : !updraft.elements<f32>, i64, i64 -> vector<8xf32>
      %y = updraft.read %own[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
      %z = updraft.read %same[%c0] : !updraft.elements<f32>, i64 -> vector<8xf32>
      %3 = arith.addf %x, %y : vector<8xf32>
      %4 = arith.addf %3, %z : vector<8xf32>
      updraft.write %4, %p[%origin, %i] : vector<8xf32>, !updraft.elements<f32>, i64, i64
    }
  }
  return
}

// A block belongs to the stream of the surrounding loop.
// CHECK-LABEL: func.func @blocks(
// CHECK-SAME:      %[[P:.*]]: !updraft.elements<f32>, %[[BEGIN:[a-z0-9]+]]: i64, %[[END:[a-z0-9]+]]: i64
// CHECK:         scf.for %[[BLOCK:.*]] = %[[BEGIN]] to %[[END]]
// CHECK:           arith.subi %[[END]], %[[BEGIN]]
// CHECK:           scf.for
// CHECK:             prefetch
func.func @blocks(%p: !updraft.elements<f32>, %begin: i64, %end: i64) {
  %c8 = arith.constant 8 : i64
  %c256 = arith.constant 256 : i64
  scf.for %block = %begin to %end step %c256 : i64 {
    %upper = arith.addi %block, %c256 : i64
    scf.for %i = %block to %upper step %c8 : i64 {
      %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
      updraft.write %x, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
    }
  }
  return
}

// Nothing is known about numbers with another width than the elements.
// CHECK-LABEL: func.func @narrow(
// CHECK-NOT:     prefetch
// CHECK:         return
func.func @narrow(%p: !updraft.elements<f32>, %begin: i32, %end: i32) {
  %c8 = arith.constant 8 : i32
  scf.for %i = %begin to %end step %c8 : i32 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i32 -> vector<8xf32>
    updraft.write %x, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i32
  }
  return
}

// Scratch memory is in the cache.
// CHECK-LABEL: func.func @scratch(
// CHECK-NOT:     prefetch
// CHECK:         return
func.func @scratch(%begin: i64, %end: i64) {
  %c8 = arith.constant 8 : i64
  %kept = updraft.scratch 512 : !updraft.elements<f32>
  %here = updraft.shift %kept[%begin] outside : !updraft.elements<f32>, i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %here[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    updraft.write %root, %here[%i] : vector<8xf32>, !updraft.elements<f32>, i64
  }
  return
}
