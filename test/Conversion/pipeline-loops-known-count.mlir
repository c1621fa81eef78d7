// A loop with a known number of elements becomes two: values that cross are stored in local memory.
// RUN: updraft-opt %s --split-input-file \
// RUN:     --updraft-pipeline-loops="vector-bits=256 window=5" | FileCheck %s
// RUN: updraft-opt %s --split-input-file \
// RUN:     --updraft-pipeline-loops="vector-bits=256 window=5 split-counted=false" \
// RUN:   | FileCheck %s --check-prefix=WHOLE

// WHOLE-LABEL:   func.func @kept(
// WHOLE-COUNT-1:   scf.for
// WHOLE-NOT:       scf.for
// WHOLE-LABEL:   func.func

// The root is kept in any case. The stream is loaded again for the sum, and `shifted` is only
// needed in the second loop.
// CHECK-LABEL: func.func @kept(
// CHECK-SAME:      %[[P:.*]]: !llvm.ptr, %[[BEGIN:[a-z0-9]+]]: i64,
// CHECK-NOT:     x i32
// CHECK:         %[[KEPT:.*]] = llvm.alloca %{{.*}} x f32
// CHECK-NOT:     llvm.alloca
// CHECK:         %[[ALL:.*]] = scf.for %[[I:.*]] = %[[BEGIN]] to %[[END:.*]] step %[[C8:.*]] iter_args(%[[MAX:.*]] = %{{.*}})
// CHECK:           %[[X:.*]] = llvm.load
// CHECK:           %[[ROOT:.*]] = math.sqrt %[[X]]
// CHECK:           %[[LARGER:.*]] = arith.maximumf %[[MAX]], %[[ROOT]]
// CHECK:           llvm.store %[[ROOT]]
// CHECK-NOT:       llvm.store
// CHECK:           scf.yield %[[LARGER]]
// CHECK:         scf.for %[[J:.*]] = %[[BEGIN]] to %[[END]] step %[[C8]]
// CHECK:           %[[KEPT_AT:.*]] = llvm.getelementptr %[[KEPT]][%[[J]]]
// CHECK:           %[[ROOT_AGAIN:.*]] = llvm.load %[[KEPT_AT]]
// CHECK-NOT:       math.sqrt
// CHECK:           %[[SHIFTED:.*]] = arith.addf
// CHECK:           %[[QUOTIENT:.*]] = arith.divf %[[ROOT_AGAIN]]
// CHECK:           %[[SUM:.*]] = arith.addf %[[QUOTIENT]], %[[SHIFTED]]
// CHECK:           llvm.store %[[SUM]]
// CHECK:         return %[[ALL]]
func.func @kept(%p: !llvm.ptr, %begin: i64, %d: vector<8xf32>, %m: vector<8xf32>) -> vector<8xf32> {
  %c256 = arith.constant 256 : i64
  %kept = llvm.alloca %c256 x f32 : (i64) -> !llvm.ptr
  %mask = arith.constant -8 : i64
  %whole = arith.andi %c256, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  %all = scf.for %i = %begin to %end step %c8 iter_args(%max = %m) -> (vector<8xf32>) : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %larger = arith.maximumf %max, %root : vector<8xf32>
    %1 = llvm.getelementptr %kept[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %root, %1 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    %shifted = arith.addf %x, %d : vector<8xf32>
    %quotient = arith.divf %root, %d : vector<8xf32>
    %sum = arith.addf %quotient, %shifted : vector<8xf32>
    llvm.store %sum, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    scf.yield %larger : vector<8xf32>
  }
  return %all : vector<8xf32>
}

// -----

// The root isn't stored in a stream, so it gets a buffer.
// CHECK-LABEL: func.func @buffered(
// CHECK-SAME:      %[[P:.*]]: !llvm.ptr, %[[BEGIN:[a-z0-9]+]]: i64,
// CHECK:         %[[SIZE:.*]] = arith.constant 248 : i64
// CHECK:         %[[BUFFER:.*]] = llvm.alloca %[[SIZE]] x f32
// CHECK:         scf.for %[[I:.*]] =
// CHECK:           %[[ROOT:.*]] = math.sqrt
// CHECK:           %[[PLACE:.*]] = arith.subi %[[I]], %[[BEGIN]]
// CHECK:           %[[AT:.*]] = llvm.getelementptr %[[BUFFER]][%[[PLACE]]]
// CHECK:           llvm.store %[[ROOT]], %[[AT]]
// CHECK-NOT:       llvm.store
// CHECK:         scf.for %[[J:.*]] =
// CHECK:           %[[PLACE:.*]] = arith.subi %[[J]], %[[BEGIN]]
// CHECK:           %[[AT:.*]] = llvm.getelementptr %[[BUFFER]][%[[PLACE]]]
// CHECK:           %[[ROOT:.*]] = llvm.load %[[AT]]
// CHECK:           %[[QUOTIENT:.*]] = arith.divf %[[ROOT]]
// CHECK:           %[[SUM:.*]] = arith.addf %[[QUOTIENT]]
// CHECK:           llvm.store %[[SUM]]
func.func @buffered(%p: !llvm.ptr, %begin: i64, %d: vector<8xf32>) {
  %c250 = arith.constant 250 : i64
  %mask = arith.constant -8 : i64
  %whole = arith.andi %c250, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %d : vector<8xf32>
    %sum = arith.addf %quotient, %d : vector<8xf32>
    llvm.store %sum, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  }
  return
}

// -----

// Single bits can't be stored in memory.
// CHECK-LABEL: func.func @bits(
// CHECK-NOT:     llvm.alloca
// CHECK:         scf.for
// CHECK-NOT:     scf.for
func.func @bits(%p: !llvm.ptr, %begin: i64, %d: vector<8xf32>) {
  %c256 = arith.constant 256 : i64
  %mask = arith.constant -8 : i64
  %whole = arith.andi %c256, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %less = arith.cmpf olt, %root, %d : vector<8xf32>
    %1 = arith.select %less, %d, %d : vector<8xi1>, vector<8xf32>
    %quotient = arith.divf %1, %d : vector<8xf32>
    %twice = arith.divf %quotient, %d : vector<8xf32>
    llvm.store %twice, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  }
  return
}
