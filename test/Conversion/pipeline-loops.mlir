// A loop whose iterations are long chains runs the second half of each beside the first half of the
// next. The first and last halves are outside. A window of five vectors is too small for any loop.
// RUN: updraft-opt %s --split-input-file \
// RUN:     --updraft-pipeline-loops="vector-bits=256 window=5" | FileCheck %s
// RUN: updraft-opt %s --split-input-file --updraft-pipeline-loops="vector-bits=256" \
// RUN:   | FileCheck %s --check-prefix=WIDE

// Each half has its own number. Values that the second half needs are read in the first, before it
// writes.
// CHECK-LABEL: func.func @halves(
// CHECK-SAME:      %[[P:.*]]: !updraft.elements<f32>, %[[Q:.*]]: !updraft.elements<f32>, %[[BEGIN:[a-z0-9]+]]: i64, %[[LENGTH:[a-z0-9]+]]: i64, %[[D:.*]]: vector<8xf32>)
// CHECK:         %[[END:.*]] = arith.addi %[[BEGIN]], %{{.*}}
// CHECK:         %[[C8:.*]] = arith.constant 8 : i64
// CHECK:         %[[SOME:.*]] = arith.cmpi slt, %[[BEGIN]], %[[END]]
// CHECK:         scf.if %[[SOME]] {
// CHECK:           %[[X0:.*]] = updraft.read
// CHECK:           %[[ROOT0:.*]] = math.sqrt %[[X0]]
// CHECK:           %[[SHIFTED0:.*]] = arith.addf %[[X0]], %[[D]]
// CHECK:           %[[Y0:.*]] = updraft.read
// CHECK:           updraft.write %[[SHIFTED0]]
// CHECK-NOT:       arith.divf
// CHECK:           %[[NEXT:.*]] = arith.addi %[[BEGIN]], %[[C8]]
// CHECK:           %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %[[END]]
// CHECK:           %[[LAST:.*]]:2 = scf.if %[[MORE]] -> (vector<8xf32>, vector<8xf32>) {
// CHECK:             scf.while (%[[I:.*]] = %[[NEXT]], %[[ROOT:.*]] = %[[ROOT0]], %[[Y:.*]] = %[[Y0]])
// CHECK:               %[[X1:.*]] = updraft.read %[[P]][%[[I]]]
// CHECK:               %[[ROOT1:.*]] = math.sqrt %[[X1]]
// CHECK:               %[[SHIFTED1:.*]] = arith.addf %[[X1]], %[[D]]
// CHECK:               %[[Y1:.*]] = updraft.read
// CHECK:               updraft.write %[[SHIFTED1]]
// CHECK:               %[[PREVIOUS:.*]] = arith.subi %[[I]], %[[C8]]
// CHECK:               %[[QUOTIENT:.*]] = arith.divf %[[ROOT]], %[[D]]
// CHECK:               %[[SUM:.*]] = arith.addf %[[QUOTIENT]], %[[Y]]
// CHECK:               updraft.write %[[SUM]], %[[Q]][%[[PREVIOUS]]]
// CHECK:               %[[AFTER:.*]] = arith.addi %[[I]], %[[C8]]
// CHECK:               %[[GOES_ON:.*]] = arith.cmpi slt, %[[AFTER]], %[[END]]
// CHECK:               scf.condition(%[[GOES_ON]]) %[[AFTER]], %[[ROOT1]], %[[Y1]]
// CHECK:           } else {
// CHECK:             scf.yield %[[ROOT0]], %[[Y0]]
// CHECK:           }
// CHECK:           %[[FINAL:.*]] = arith.subi %[[END]], %[[C8]]
// CHECK:           %[[QUOTIENT:.*]] = arith.divf %[[LAST]]#0, %[[D]]
// CHECK:           %[[SUM:.*]] = arith.addf %[[QUOTIENT]], %[[LAST]]#1
// CHECK:           updraft.write %[[SUM]], %[[Q]][%[[FINAL]]]
// CHECK-NOT:       scf.for
// CHECK:         return
//
// The window of a CPU has room for several such iterations.
// WIDE-LABEL: func.func @halves(
// WIDE:         scf.for
// WIDE-NOT:     scf.while
func.func @halves(%p: !updraft.elements<f32>, %q: !updraft.elements<f32>, %begin: i64, %length: i64, %d: vector<8xf32>) {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %y = updraft.read %q[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %shifted = arith.addf %x, %d : vector<8xf32>
    %quotient = arith.divf %root, %d : vector<8xf32>
    %sum = arith.addf %quotient, %y : vector<8xf32>
    updraft.write %sum, %q[%i] : vector<8xf32>, !updraft.elements<f32>, i64
    updraft.write %shifted, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
  }
  return
}

// -----

// The number of elements may not be a multiple of whole vectors.
// CHECK-LABEL: func.func @part_of_a_vector(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @part_of_a_vector(%p: !updraft.elements<f32>, %begin: i64, %end: i64) {
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %twice = math.sqrt %root : vector<8xf32>
    updraft.write %twice, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
  }
  return
}

// -----

// An iteration adds to a value that another one has written.
// CHECK-LABEL: func.func @accumulates(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @accumulates(%p: !updraft.elements<f32>, %lanes: !updraft.elements<f32>, %begin: i64, %length: i64) {
  %c0 = arith.constant 0 : i64
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %total = updraft.read %lanes[%c0] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %sum = arith.addf %total, %root : vector<8xf32>
    updraft.write %sum, %lanes[%c0] : vector<8xf32>, !updraft.elements<f32>, i64
  }
  return
}

// -----

// A value may have been written just before it is read: the streams may be the same.
// CHECK-LABEL: func.func @reads_after_a_write(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @reads_after_a_write(%p: !updraft.elements<f32>, %q: !updraft.elements<f32>, %begin: i64, %length: i64) {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    updraft.write %root, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
    %y = updraft.read %q[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %quotient = arith.divf %y, %root : vector<8xf32>
    updraft.write %quotient, %q[%i] : vector<8xf32>, !updraft.elements<f32>, i64
  }
  return
}

// -----

// Adjacent iterations read values that the other one writes.
// CHECK-LABEL: func.func @neighbours(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @neighbours(%p: !updraft.elements<f32>, %begin: i64, %length: i64) {
  %mask = arith.constant -4 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c4 = arith.constant 4 : i64
  scf.for %i = %begin to %end step %c4 : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %twice = math.sqrt %root : vector<8xf32>
    updraft.write %twice, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
  }
  return
}

// -----

// Both halves compute scalars. This one comes from a vector that only one of them has.
// CHECK-LABEL: func.func @scalar_of_a_vector(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @scalar_of_a_vector(%p: !updraft.elements<f32>, %begin: i64, %length: i64) {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %first = vector.extract %x[0] : f32 from vector<8xf32>
    %firsts = vector.broadcast %first : f32 to vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %firsts : vector<8xf32>
    updraft.write %quotient, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
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

// Only some lanes of a vector are elements of the iteration.
// CHECK-LABEL: func.func @masked(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @masked(%p: !updraft.elements<f32>, %lanes: vector<8xi1>, %begin: i64, %length: i64) {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %p[%i] mask %lanes : !updraft.elements<f32>, i64, vector<8xi1> -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %x : vector<8xf32>
    updraft.write %quotient, %p[%i] mask %lanes
        : vector<8xf32>, !updraft.elements<f32>, i64, vector<8xi1>
  }
  return
}

// -----

// One of two results of an operation can't cross.
// CHECK-LABEL: func.func @two_results(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @two_results(%p: !updraft.elements<f32>, %begin: i64, %length: i64) {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %low, %high = arith.mului_extended %i, %i : i64
    %sum = arith.addi %low, %high : i64
    %number = arith.sitofp %sum : i64 to f32
    %numbers = vector.broadcast %number : f32 to vector<8xf32>
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %numbers : vector<8xf32>
    updraft.write %quotient, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
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
func.func @carries(%p: !updraft.elements<f32>, %begin: i64, %length: i64, %d: vector<8xf32>, %m: vector<8xf32>) -> vector<8xf32> {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  %all = scf.for %i = %begin to %end step %c8 iter_args(%max = %m) -> (vector<8xf32>) : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %larger = arith.maximumf %max, %root : vector<8xf32>
    %quotient = arith.divf %root, %d : vector<8xf32>
    %sum = arith.addf %quotient, %d : vector<8xf32>
    updraft.write %sum, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
    scf.yield %larger : vector<8xf32>
  }
  return %all : vector<8xf32>
}

// -----

// A stored value depends on a loop-carried one.
// CHECK-LABEL: func.func @running_maximum(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @running_maximum(%p: !updraft.elements<f32>, %begin: i64, %length: i64, %m: vector<8xf32>) -> vector<8xf32> {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  %all = scf.for %i = %begin to %end step %c8 iter_args(%max = %m) -> (vector<8xf32>) : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %larger = arith.maximumf %max, %root : vector<8xf32>
    %quotient = arith.divf %root, %larger : vector<8xf32>
    %sum = arith.addf %quotient, %x : vector<8xf32>
    updraft.write %sum, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
    scf.yield %larger : vector<8xf32>
  }
  return %all : vector<8xf32>
}

// -----

// It is combined with the result of the chain.
// CHECK-LABEL: func.func @combines_late(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @combines_late(%p: !updraft.elements<f32>, %begin: i64, %length: i64, %d: vector<8xf32>, %m: vector<8xf32>) -> vector<8xf32> {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  %all = scf.for %i = %begin to %end step %c8 iter_args(%max = %m) -> (vector<8xf32>) : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %d : vector<8xf32>
    %sum = arith.addf %quotient, %d : vector<8xf32>
    %larger = arith.maximumf %max, %sum : vector<8xf32>
    updraft.write %sum, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
    scf.yield %larger : vector<8xf32>
  }
  return %all : vector<8xf32>
}

// -----

// An iteration reads what another one writes, because it has other numbers.
// CHECK-LABEL: func.func @two_origins(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @two_origins(%p: !updraft.elements<f32>, %a: i64, %b: i64, %begin: i64, %length: i64) {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %p[%a, %i] : !updraft.elements<f32>, i64, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %x : vector<8xf32>
    updraft.write %quotient, %p[%b, %i] : vector<8xf32>, !updraft.elements<f32>, i64, i64
  }
  return
}

// -----

// The second value must stay.
// CHECK-LABEL: func.func @writes_twice(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @writes_twice(%p: !updraft.elements<f32>, %begin: i64, %length: i64, %d: vector<8xf32>) {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %shifted = arith.addf %x, %d : vector<8xf32>
    %quotient = arith.divf %root, %d : vector<8xf32>
    updraft.write %quotient, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
    updraft.write %shifted, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
  }
  return
}

// -----

// A number that the loop carries is not a vector.
// CHECK-LABEL: func.func @carries_a_number(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @carries_a_number(%p: !updraft.elements<f32>, %begin: i64, %length: i64, %n: i64) -> i64 {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  %all = scf.for %i = %begin to %end step %c8 iter_args(%sum = %n) -> (i64) : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %next = arith.addi %sum, %i : i64
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %x : vector<8xf32>
    updraft.write %quotient, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
    scf.yield %next : i64
  }
  return %all : i64
}

// -----

// The new loops would compare signed numbers.
// CHECK-LABEL: func.func @unsigned(
// CHECK:         scf.for unsigned
// CHECK-NOT:     scf.while
func.func @unsigned(%p: !updraft.elements<f32>, %begin: i64, %length: i64) {
  %mask = arith.constant -8 : i64
  %whole = arith.andi %length, %mask : i64
  %end = arith.addi %begin, %whole : i64
  %c8 = arith.constant 8 : i64
  scf.for unsigned %i = %begin to %end step %c8 : i64 {
    %x = updraft.read %p[%i] : !updraft.elements<f32>, i64 -> vector<8xf32>
    %root = math.sqrt %x : vector<8xf32>
    %quotient = arith.divf %root, %x : vector<8xf32>
    updraft.write %quotient, %p[%i] : vector<8xf32>, !updraft.elements<f32>, i64
  }
  return
}
