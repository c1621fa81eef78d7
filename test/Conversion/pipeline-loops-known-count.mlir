// A loop with a known number of elements becomes two: values that cross are kept in scratch memory.
// RUN: updraft-opt %s --split-input-file \
// RUN:     --updraft-pipeline-loops="vector-bits=256 window=5" | FileCheck %s
// RUN: updraft-opt %s --split-input-file \
// RUN:     --updraft-pipeline-loops="vector-bits=256 window=5 split-counted=false" \
// RUN:   | FileCheck %s --check-prefix=WHOLE

// WHOLE-LABEL:   func.func @kept(
// WHOLE-COUNT-1:   scf.for
// WHOLE-NOT:       scf.for
// WHOLE-LABEL:   func.func

// The root is kept in any case. The stream is read again for the sum, and `shifted` is only
// needed in the second loop.
// CHECK-LABEL: func.func @kept(
// CHECK-SAME:      %[[P:.*]]: !updraft.elements<f32>, %[[BEGIN:[a-z0-9]+]]: i64,
// CHECK:         %[[KEPT:.*]] = updraft.scratch 256 : <f32>
// CHECK-NOT:     updraft.scratch
// CHECK:         %[[ALL:.*]] = scf.for %[[I:.*]] = %[[BEGIN]] to %[[END:.*]] step %[[C8:.*]] iter_args(%[[MAX:.*]] = %{{.*}})
// CHECK:           %[[X:.*]] = updraft.read
// CHECK:           %[[ROOT:.*]] = math.sqrt %[[X]]
// CHECK:           %[[LARGER:.*]] = arith.maximumf %[[MAX]], %[[ROOT]]
// CHECK:           updraft.write %[[ROOT]], %[[KEPT]][%[[I]]]
// CHECK-NOT:       updraft.write
// CHECK:           scf.yield %[[LARGER]]
// CHECK:         scf.for %[[J:.*]] = %[[BEGIN]] to %[[END]] step %[[C8]]
// CHECK:           %[[ROOT_AGAIN:.*]] = updraft.read %[[KEPT]][%[[J]]]
// CHECK-NOT:       math.sqrt
// CHECK:           %[[SHIFTED:.*]] = arith.addf
// CHECK:           %[[QUOTIENT:.*]] = arith.divf %[[ROOT_AGAIN]]
// CHECK:           %[[SUM:.*]] = arith.addf %[[QUOTIENT]], %[[SHIFTED]]
// CHECK:           updraft.write %[[SUM]]
// CHECK:         return %[[ALL]]
func.func @kept(%p: !updraft.elements<f32>, %begin: i64, %d: vector<8xf32>, %m: vector<8xf32>) -> vector<8xf32> {
  %c256 = arith.constant 256 : i64
  %kept = updraft.scratch 256 : !updraft.elements<f32>
  %mask = arith.constant -8 : i64
  %whole = arith.andi %c256, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  %all = scf.for %i = %begin to %end step %c8 iter_args(%max = %m) -> (vector<8xf32>) : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %larger = arith.maximumf %max, %root : vector<8xf32>
    updraft.write %root, %kept[%i] : vector<8xf32>, !updraft.elements<f32>, i64
    %shifted = arith.addf %x, %d : vector<8xf32>
    %quotient = arith.divf %root, %d : vector<8xf32>
    %sum = arith.addf %quotient, %shifted : vector<8xf32>
    updraft.write %sum, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
    scf.yield %larger : vector<8xf32>
  }
  return %all : vector<8xf32>
}

// -----

// The loop doesn't write the root, so it gets scratch memory.
// CHECK-LABEL: func.func @buffered(
// CHECK-SAME:      %[[P:.*]]: !updraft.elements<f32>, %[[BEGIN:[a-z0-9]+]]: i64,
// CHECK:         %[[BUFFER:.*]] = updraft.scratch 248 : <f32>
// CHECK:         scf.for %[[I:.*]] =
// CHECK:           %[[ROOT:.*]] = math.sqrt
// CHECK:           %[[PLACE:.*]] = arith.subi %[[I]], %[[BEGIN]]
// CHECK:           updraft.write %[[ROOT]], %[[BUFFER]][%[[PLACE]]]
// CHECK-NOT:       updraft.write
// CHECK:         scf.for %[[J:.*]] =
// CHECK:           %[[PLACE:.*]] = arith.subi %[[J]], %[[BEGIN]]
// CHECK:           %[[ROOT:.*]] = updraft.read %[[BUFFER]][%[[PLACE]]]
// CHECK:           %[[QUOTIENT:.*]] = arith.divf %[[ROOT]]
// CHECK:           %[[SUM:.*]] = arith.addf %[[QUOTIENT]]
// CHECK:           updraft.write %[[SUM]]
func.func @buffered(%p: !updraft.elements<f32>, %begin: i64, %d: vector<8xf32>) {
  %c250 = arith.constant 250 : i64
  %mask = arith.constant -8 : i64
  %whole = arith.andi %c250, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %d : vector<8xf32>
    %sum = arith.addf %quotient, %d : vector<8xf32>
    updraft.write %sum, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
  }
  return
}

// -----

// Single bits can't be stored in memory.
// CHECK-LABEL: func.func @bits(
// CHECK-NOT:     updraft.scratch
// CHECK:         scf.for
// CHECK-NOT:     scf.for
func.func @bits(%p: !updraft.elements<f32>, %begin: i64, %d: vector<8xf32>) {
  %c256 = arith.constant 256 : i64
  %mask = arith.constant -8 : i64
  %whole = arith.andi %c256, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %less = arith.cmpf olt, %root, %d : vector<8xf32>
    %1 = arith.select %less, %d, %d : vector<8xi1>, vector<8xf32>
    %quotient = arith.divf %1, %d : vector<8xf32>
    %twice = arith.divf %quotient, %d : vector<8xf32>
    updraft.write %twice, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
  }
  return
}

// -----

// The second loop would read what the first one has written.
// CHECK-LABEL: func.func @overwrites_kept(
// CHECK:         scf.while
// CHECK-NOT:     scf.for
func.func @overwrites_kept(%p: !updraft.elements<f32>, %begin: i64, %d: vector<8xf32>) {
  %kept = updraft.scratch 256 : !updraft.elements<f32>
  %c256 = arith.constant 256 : i64
  %mask = arith.constant -8 : i64
  %whole = arith.andi %c256, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %kept[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    updraft.write %root, %kept[%i] : vector<8xf32>, !updraft.elements<f32>, i64
    %quotient = arith.divf %root, %d : vector<8xf32>
    %sum = arith.addf %quotient, %x : vector<8xf32>
    updraft.write %sum, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
  }
  return
}

// -----

// The stack has no room for as many elements.
// CHECK-LABEL: func.func @large(
// CHECK-NOT:     updraft.scratch
// CHECK:         scf.while
func.func @large(%p: !updraft.elements<f32>, %begin: i64, %d: vector<8xf32>) {
  %count = arith.constant 100000000 : i64
  %mask = arith.constant -8 : i64
  %whole = arith.andi %count, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %d : vector<8xf32>
    %sum = arith.addf %quotient, %d : vector<8xf32>
    updraft.write %sum, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
  }
  return
}

// -----

// CHECK-LABEL: func.func @negative(
// CHECK-NOT:     updraft.scratch
// CHECK:         scf.while
func.func @negative(%p: !updraft.elements<f32>, %begin: i64, %d: vector<8xf32>) {
  %count = arith.constant -256 : i64
  %mask = arith.constant -8 : i64
  %whole = arith.andi %count, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %d : vector<8xf32>
    %sum = arith.addf %quotient, %d : vector<8xf32>
    updraft.write %sum, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
  }
  return
}
