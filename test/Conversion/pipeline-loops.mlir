// A loop whose iterations are long chains runs the second half of each beside the first half of the
// next. The first and last halves are outside. A window of five vectors is too small for any loop.
// RUN: updraft-opt %s --split-input-file \
// RUN:     --updraft-pipeline-loops="vector-bits=256 window=5" | FileCheck %s
// RUN: updraft-opt %s --split-input-file --updraft-pipeline-loops="vector-bits=256" \
// RUN:   | FileCheck %s --check-prefix=WIDE

// Each half computes its addresses. Values that the second half needs are loaded in the first,
// before it stores.
// CHECK-LABEL: func.func @halves(
// CHECK-SAME:      %[[P:.*]]: !llvm.ptr, %[[Q:.*]]: !llvm.ptr, %[[BEGIN:[a-z0-9]+]]: i64, %[[LENGTH:[a-z0-9]+]]: i64, %[[D:.*]]: vector<8xf32>)
// CHECK:         %[[END:.*]] = arith.addi %[[BEGIN]], %{{.*}}
// CHECK:         %[[C8:.*]] = arith.constant 8 : i64
// CHECK:         %[[SOME:.*]] = arith.cmpi slt, %[[BEGIN]], %[[END]]
// CHECK:         scf.if %[[SOME]] {
// CHECK:           %[[X0:.*]] = llvm.load
// CHECK:           %[[ROOT0:.*]] = math.sqrt %[[X0]]
// CHECK:           %[[SHIFTED0:.*]] = arith.addf %[[X0]], %[[D]]
// CHECK:           %[[Y0:.*]] = llvm.load
// CHECK:           llvm.store %[[SHIFTED0]]
// CHECK-NOT:       arith.divf
// CHECK:           %[[NEXT:.*]] = arith.addi %[[BEGIN]], %[[C8]]
// CHECK:           %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %[[END]]
// CHECK:           %[[LAST:.*]]:2 = scf.if %[[MORE]] -> (vector<8xf32>, vector<8xf32>) {
// CHECK:             scf.while (%[[I:.*]] = %[[NEXT]], %[[ROOT:.*]] = %[[ROOT0]], %[[Y:.*]] = %[[Y0]])
// CHECK:               %[[AT:.*]] = llvm.getelementptr inbounds %[[P]][%[[I]]]
// CHECK:               %[[X1:.*]] = llvm.load %[[AT]]
// CHECK:               %[[ROOT1:.*]] = math.sqrt %[[X1]]
// CHECK:               %[[SHIFTED1:.*]] = arith.addf %[[X1]], %[[D]]
// CHECK:               %[[Y1:.*]] = llvm.load
// CHECK:               llvm.store %[[SHIFTED1]]
// CHECK:               %[[PREVIOUS:.*]] = arith.subi %[[I]], %[[C8]]
// CHECK:               %[[QAT:.*]] = llvm.getelementptr inbounds %[[Q]][%[[PREVIOUS]]]
// CHECK:               %[[QUOTIENT:.*]] = arith.divf %[[ROOT]], %[[D]]
// CHECK:               %[[SUM:.*]] = arith.addf %[[QUOTIENT]], %[[Y]]
// CHECK:               llvm.store %[[SUM]], %[[QAT]]
// CHECK:               %[[AFTER:.*]] = arith.addi %[[I]], %[[C8]]
// CHECK:               %[[GOES_ON:.*]] = arith.cmpi slt, %[[AFTER]], %[[END]]
// CHECK:               scf.condition(%[[GOES_ON]]) %[[AFTER]], %[[ROOT1]], %[[Y1]]
// CHECK:           } else {
// CHECK:             scf.yield %[[ROOT0]], %[[Y0]]
// CHECK:           }
// CHECK:           %[[FINAL:.*]] = arith.subi %[[END]], %[[C8]]
// CHECK:           llvm.getelementptr inbounds %[[Q]][%[[FINAL]]]
// CHECK:           %[[QUOTIENT:.*]] = arith.divf %[[LAST]]#0, %[[D]]
// CHECK:           %[[SUM:.*]] = arith.addf %[[QUOTIENT]], %[[LAST]]#1
// CHECK:           llvm.store %[[SUM]]
// CHECK-NOT:       scf.for
// CHECK:         return
//
// The window of a CPU has room for several such iterations.
// WIDE-LABEL: func.func @halves(
// WIDE:         scf.for
// WIDE-NOT:     scf.while
func.func @halves(%p: !llvm.ptr, %q: !llvm.ptr, %begin: i64, %length: i64, %d: vector<8xf32>) {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %1 = llvm.getelementptr inbounds %q[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %y = llvm.load %1 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %shifted = arith.addf %x, %d : vector<8xf32>
    %quotient = arith.divf %root, %d : vector<8xf32>
    %sum = arith.addf %quotient, %y : vector<8xf32>
    llvm.store %sum, %1 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    llvm.store %shifted, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  }
  return
}

// -----

// The number of elements may not be a multiple of whole vectors.
// CHECK-LABEL: func.func @part_of_a_vector(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @part_of_a_vector(%p: !llvm.ptr, %begin: i64, %end: i64) {
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %twice = math.sqrt %root : vector<8xf32>
    llvm.store %twice, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  }
  return
}

// -----

// An iteration adds to a value that another one has stored.
// CHECK-LABEL: func.func @accumulates(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @accumulates(%p: !llvm.ptr, %lanes: !llvm.ptr, %begin: i64, %length: i64) {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %total = llvm.load %lanes {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %sum = arith.addf %total, %root : vector<8xf32>
    llvm.store %sum, %lanes {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  }
  return
}

// -----

// A loaded value may have been stored just before: the streams may be the same.
// CHECK-LABEL: func.func @loads_after_a_store(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @loads_after_a_store(%p: !llvm.ptr, %q: !llvm.ptr, %begin: i64, %length: i64) {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    llvm.store %root, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    %1 = llvm.getelementptr inbounds %q[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %y = llvm.load %1 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %quotient = arith.divf %y, %root : vector<8xf32>
    llvm.store %quotient, %1 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  }
  return
}

// -----

// Adjacent iterations read values that the other one writes.
// CHECK-LABEL: func.func @neighbours(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @neighbours(%p: !llvm.ptr, %begin: i64, %length: i64) {
  %mask = arith.constant -4 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c4 = arith.constant 4 : i64
  scf.for %i = %begin to %end step %c4 : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %twice = math.sqrt %root : vector<8xf32>
    llvm.store %twice, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  }
  return
}

// -----

// Both halves compute scalars. This one comes from a vector that only one of them has.
// CHECK-LABEL: func.func @scalar_of_a_vector(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @scalar_of_a_vector(%p: !llvm.ptr, %begin: i64, %length: i64) {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %first = vector.extract %x[0] : f32 from vector<8xf32>
    %firsts = vector.broadcast %first : f32 to vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %firsts : vector<8xf32>
    llvm.store %quotient, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  }
  return
}

// -----

// More values would cross than registers can hold beside all others.
// RUN: updraft-opt %s --split-input-file \
// RUN:     --updraft-pipeline-loops="vector-bits=256 window=5 max-carried=1" \
// RUN:   | FileCheck %s --check-prefix=FEW
// FEW-LABEL: func.func @halves(
// FEW:         scf.for
// FEW-NOT:     scf.while
// FEW-LABEL: func.func @part_of_a_vector(
func.func @empty() {
  return
}

// -----

// CHECK-LABEL: func.func @volatile(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @volatile(%p: !llvm.ptr, %begin: i64, %length: i64) {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load volatile %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %x : vector<8xf32>
    llvm.store %quotient, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  }
  return
}

// -----

// One of two results of an operation can't cross.
// CHECK-LABEL: func.func @two_results(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @two_results(%p: !llvm.ptr, %begin: i64, %length: i64) {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %low, %high = arith.mului_extended %i, %i : i64
    %sum = arith.addi %low, %high : i64
    %number = arith.sitofp %sum : i64 to f32
    %numbers = vector.broadcast %number : f32 to vector<8xf32>
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %numbers : vector<8xf32>
    llvm.store %quotient, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  }
  return
}

// -----

// Loop-carried values are combined in the first half, including the maximum of the crossing value.
// CHECK-LABEL: func.func @carries(
// CHECK-SAME:      %[[M:[a-z0-9]+]]: vector<8xf32>) ->
// CHECK:         %[[ALL:.*]] = scf.if
// CHECK:           %[[ROOT0:.*]] = math.sqrt
// CHECK:           %[[MAX0:.*]] = arith.maximumf %[[M]], %[[ROOT0]]
// CHECK:           %[[LAST:.*]]:2 = scf.if
// CHECK:             scf.while ({{.*}} = %[[ROOT0]], %[[MAX:.*]] = %[[MAX0]])
// CHECK:               %[[ROOT1:.*]] = math.sqrt
// CHECK:               %[[MAX1:.*]] = arith.maximumf %[[MAX]], %[[ROOT1]]
// CHECK:               scf.condition({{.*}}) %{{.*}}, %[[ROOT1]], %[[MAX1]]
// CHECK:           arith.divf %[[LAST]]#0
// CHECK:           scf.yield %[[LAST]]#1
// CHECK:         } else {
// CHECK:           scf.yield %[[M]]
// CHECK:         return %[[ALL]]
func.func @carries(%p: !llvm.ptr, %begin: i64, %length: i64, %d: vector<8xf32>, %m: vector<8xf32>) -> vector<8xf32> {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  %all = scf.for %i = %begin to %end step %c8 iter_args(%max = %m) -> (vector<8xf32>) : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %larger = arith.maximumf %max, %root : vector<8xf32>
    %quotient = arith.divf %root, %d : vector<8xf32>
    %sum = arith.addf %quotient, %d : vector<8xf32>
    llvm.store %sum, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    scf.yield %larger : vector<8xf32>
  }
  return %all : vector<8xf32>
}

// -----

// A stored value depends on a loop-carried one.
// CHECK-LABEL: func.func @running_maximum(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @running_maximum(%p: !llvm.ptr, %begin: i64, %length: i64, %m: vector<8xf32>) -> vector<8xf32> {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  %all = scf.for %i = %begin to %end step %c8 iter_args(%max = %m) -> (vector<8xf32>) : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %larger = arith.maximumf %max, %root : vector<8xf32>
    %quotient = arith.divf %root, %larger : vector<8xf32>
    %sum = arith.addf %quotient, %x : vector<8xf32>
    llvm.store %sum, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    scf.yield %larger : vector<8xf32>
  }
  return %all : vector<8xf32>
}

// -----

// It is combined with the result of the chain.
// CHECK-LABEL: func.func @combines_late(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @combines_late(%p: !llvm.ptr, %begin: i64, %length: i64, %d: vector<8xf32>, %m: vector<8xf32>) -> vector<8xf32> {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  %all = scf.for %i = %begin to %end step %c8 iter_args(%max = %m) -> (vector<8xf32>) : i64 {
    %0 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %d : vector<8xf32>
    %sum = arith.addf %quotient, %d : vector<8xf32>
    %larger = arith.maximumf %max, %sum : vector<8xf32>
    llvm.store %sum, %0 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    scf.yield %larger : vector<8xf32>
  }
  return %all : vector<8xf32>
}
