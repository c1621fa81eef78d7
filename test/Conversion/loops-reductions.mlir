// A sweep that reduces a flat sequence: lanes are in memory, and a function computes one partial
// value per leaf and reduction from them.
// RUN: updraft-opt %s --convert-updraft-plan-to-loops="vector-bits=256 mask-remainder=true" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,MASK
// RUN: updraft-opt %s --convert-updraft-plan-to-loops="vector-bits=256 mask-remainder=false" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,SCALAR

updraft.plan @R compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %r:2 = updraft.sweep reads(%g : !updraft.stream<f32>)
      reduces [#updraft.reduction<sum over tensor>, #updraft.reduction<max over group>]
      -> f64, f64 {
  ^bb0(%x: f32):
    %w = arith.extf %x : f32 to f64
    %s = arith.mulf %w, %w : f64
    updraft.store reduce(%s, %w)
  }
}

// All lanes are empty at first.
// CHECK-LABEL: func.func private @updraft.reset.max(
// CHECK-SAME:      %[[LANES:[a-z0-9_]+]]: !updraft.elements<f64>) attributes {llvm.linkage = #llvm.linkage<internal>, updraft.lanes} {
// CHECK:         %[[END:.*]] = arith.constant 16 : i64
// CHECK:         scf.for %[[N:.*]] = %{{.*}} to %[[END]] step
// CHECK:           %[[LANE:.*]] = arith.muli %[[N]]
// CHECK:           %[[EMPTY:.*]] = arith.constant dense<0xFFF0000000000000> : vector<8xf64>
// CHECK:           updraft.write %[[EMPTY]], %[[LANES]][%[[LANE]]] : vector<8xf64>, !updraft.elements<f64>, i64

// The total of all lanes, or of the first few: the upper half is added to the lower half, first of
// whole groups of eight lanes.
// CHECK-LABEL: func.func private @updraft.take.max(
// CHECK:         arith.maximumf {{.*}} : vector<8xf64>
// CHECK-LABEL: func.func private @updraft.take.sum(
// CHECK-SAME:      %[[LANES:[a-z0-9_]+]]: !updraft.elements<f64>, %[[FEW:[a-z0-9_]+]]: i1) -> f64 attributes {llvm.linkage = #llvm.linkage<internal>, updraft.lanes} {
// CHECK:         %[[RESULT:.*]] = scf.if %[[FEW]] -> (f64) {
// CHECK:           %[[GROUP0:.*]] = updraft.read %[[LANES]][%{{.*}}] : !updraft.elements<f64>, i64 -> vector<8xf64>
// CHECK:           updraft.write %{{.*}}, %[[LANES]][%{{.*}}] : vector<8xf64>, !updraft.elements<f64>, i64
// CHECK:           %[[GROUP1:.*]] = updraft.read
// CHECK:           %[[GROUP2:.*]] = updraft.read
// CHECK:           %[[GROUP3:.*]] = updraft.read
// CHECK:           %[[EVEN:.*]] = arith.addf %[[GROUP0]], %[[GROUP2]] : vector<8xf64>
// CHECK:           %[[ODD:.*]] = arith.addf %[[GROUP1]], %[[GROUP3]] : vector<8xf64>
// CHECK:           %[[GROUP:.*]] = arith.addf %[[EVEN]], %[[ODD]] : vector<8xf64>
// CHECK:           %[[LOW:.*]] = vector.shuffle %[[GROUP]], %[[GROUP]] [0, 1, 2, 3]
// CHECK:           %[[HIGH:.*]] = vector.shuffle %[[GROUP]], %[[GROUP]] [4, 5, 6, 7]
// CHECK:           arith.addf %[[LOW]], %[[HIGH]] : vector<4xf64>
// CHECK:           arith.addf {{.*}} : vector<2xf64>
// CHECK:           %[[TOTAL:.*]] = arith.addf {{.*}} : vector<1xf64>
// CHECK:           %[[VALUE:.*]] = vector.extract %[[TOTAL]][0]
// CHECK:           scf.yield %[[VALUE]] : f64
// CHECK:         } else {
// CHECK-COUNT-16:  updraft.read %[[LANES]]
// CHECK-COUNT-15:  arith.addf {{.*}} : vector<8xf64>
// CHECK:         return %[[RESULT]] : f64

// CHECK-LABEL: func.func @R_sweep0(
// CHECK-SAME:      %{{[a-z0-9_]+}}: !llvm.ptr, %{{[a-z0-9_]+}}: !llvm.ptr, %{{[a-z0-9_]+}}: !llvm.ptr, %{{[a-z0-9_]+}}: i64,
// CHECK-SAME:      %[[PARTIALS:[a-z0-9_]+]]: !llvm.ptr, %{{[a-z0-9_]+}}: !llvm.ptr) {
// CHECK:         %[[SUMS:.*]] = updraft.scratch 128 : <f64>
// CHECK:         call @updraft.reset.sum(%[[SUMS]]) : (!updraft.elements<f64>) -> ()
// CHECK:         %[[MAXIMA:.*]] = updraft.scratch 128 : <f64>
// CHECK:         call @updraft.reset.max(%[[MAXIMA]]) : (!updraft.elements<f64>) -> ()
// CHECK:         scf.for %{{.*}} iter_args(%[[OF_TENSOR:.*]] = %[[PARTIALS]]) -> (!llvm.ptr)  : i64 {
// CHECK:         %[[LEAF_SIZE:.*]] = arith.constant 8192 : i64
// CHECK:         %[[NEXT:.*]] = scf.for %[[LEAF:.*]] = %{{.*}} to %[[END:.*]] step %[[LEAF_SIZE]] iter_args(%[[OF_LEAF:.*]] = %[[OF_TENSOR]])
// CHECK:           %[[FULL:.*]] = arith.addi %[[LEAF]], %[[LEAF_SIZE]] : i64
// CHECK:           %[[LEAF_END:.*]] = arith.minsi %[[FULL]], %[[END]] : i64
//
// A short leaf has values for a few lanes only.
// CHECK:           %[[LENGTH:.*]] = arith.subi %[[LEAF_END]], %[[LEAF]] : i64
// CHECK:           %[[MOST:.*]] = arith.constant 32 : i64
// CHECK:           %[[FEW:.*]] = arith.cmpi ule, %[[LENGTH]], %[[MOST]] : i64
//
// Leaves start at multiples of 128.
// CHECK:           scf.for %[[I:.*]] = %[[LEAF]] to %{{.*}} step
// CHECK:             %[[W:.*]] = arith.extf %{{.*}} : vector<8xf32> to vector<8xf64>
//
// The square of an f32 is exact in f64, so that it can be fused with the sum.
// CHECK:             %[[SQUARE:.*]] = arith.mulf %[[W]], %[[W]] fastmath<contract> : vector<8xf64>
// CHECK:             %[[LAST_LANE:.*]] = arith.constant 127 : i64
// CHECK:             %[[LANE:.*]] = arith.andi %[[I]], %[[LAST_LANE]] : i64
// CHECK:             %[[SUM:.*]] = updraft.read %[[SUMS]][%[[LANE]]] : !updraft.elements<f64>, i64 -> vector<8xf64>
// CHECK:             %[[SUM1:.*]] = arith.addf %[[SUM]], %[[SQUARE]] fastmath<contract> : vector<8xf64>
// CHECK:             updraft.write %[[SUM1]], %[[SUMS]][%[[LANE]]] : vector<8xf64>, !updraft.elements<f64>, i64
// CHECK:             %[[LAST_LANE1:.*]] = arith.constant 127 : i64
// CHECK:             %[[LANE1:.*]] = arith.andi %[[I]], %[[LAST_LANE1]] : i64
// CHECK:             %[[MAXIMUM:.*]] = updraft.read %[[MAXIMA]][%[[LANE1]]] : !updraft.elements<f64>, i64 -> vector<8xf64>
// CHECK:             %[[MAXIMUM1:.*]] = arith.maximumf %[[MAXIMUM]], %[[W]] : vector<8xf64>
// CHECK:             updraft.write %[[MAXIMUM1]], %[[MAXIMA]][%[[LANE1]]] : vector<8xf64>, !updraft.elements<f64>, i64
//
// Lanes without an element get the neutral value.
// MASK:            %[[NOTHING:.*]] = arith.constant dense<0.000000e+00> : vector<8xf64>
// MASK:            arith.select %{{.*}}, %{{.*}}, %[[NOTHING]] : vector<8xi1>, vector<8xf64>
// MASK:            %[[LEAST:.*]] = arith.constant dense<0xFFF0000000000000> : vector<8xf64>
// MASK:            arith.select %{{.*}}, %{{.*}}, %[[LEAST]] : vector<8xi1>, vector<8xf64>
// SCALAR:          scf.for %[[J:.*]] = %{{.*}} to %[[LEAF_END]] step
// SCALAR:            %[[LANE_J:.*]] = arith.andi %[[J]], %{{.*}} : i64
// SCALAR:            %[[SUM_J:.*]] = updraft.read %[[SUMS]][%[[LANE_J]]] : !updraft.elements<f64>, i64 -> f64
// SCALAR:            arith.addf %[[SUM_J]], {{.*}} : f64
//
// CHECK:           %[[SUM_OF_LEAF:.*]] = func.call @updraft.take.sum(%[[SUMS]], %[[FEW]]) : (!updraft.elements<f64>, i1) -> f64
// CHECK:           %[[SLOT0:.*]] = llvm.getelementptr inbounds %[[OF_LEAF]][0]
// CHECK:           llvm.store %[[SUM_OF_LEAF]], %[[SLOT0]]
// CHECK:           %[[MAXIMUM_OF_LEAF:.*]] = func.call @updraft.take.max(%[[MAXIMA]], %[[FEW]])
// CHECK:           %[[SLOT1:.*]] = llvm.getelementptr inbounds %[[OF_LEAF]][1]
// CHECK:           llvm.store %[[MAXIMUM_OF_LEAF]], %[[SLOT1]]
// CHECK:           %[[AFTER:.*]] = llvm.getelementptr inbounds %[[OF_LEAF]][2]
// CHECK:           scf.yield %[[AFTER]] : !llvm.ptr
// CHECK:         scf.yield %[[NEXT]] : !llvm.ptr
