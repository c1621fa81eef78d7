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

// From the last group of eight lanes to the second, each is combined with the group without the
// highest bit of its number, and then cleared.
// CHECK-LABEL: func.func private @updraft.take.max(
// CHECK:         arith.maximumf {{.*}} : vector<8xf64>
// CHECK-LABEL: func.func private @updraft.take.sum(
// CHECK-SAME:      %[[LANES:[a-z0-9_]+]]: !updraft.elements<f64>, %[[GROUPS:[a-z0-9_]+]]: i64) -> f64 attributes {llvm.linkage = #llvm.linkage<internal>, updraft.lanes} {
// CHECK:         scf.for %[[N:.*]] = %{{.*}} to %[[GROUPS]] step
// CHECK:           %[[FROM:.*]] = arith.subi %[[GROUPS]], %[[N]] : i64
// CHECK:           %[[ZEROS:.*]] = math.ctlz %[[FROM]] : i64
// CHECK:           %[[HIGHEST:.*]] = arith.shrui %{{.*}}, %[[ZEROS]] : i64
// CHECK:           %[[TO:.*]] = arith.xori %[[FROM]], %[[HIGHEST]] : i64
// CHECK:           %[[UPPER_LANE:.*]] = arith.muli %[[FROM]]
// CHECK:           %[[UPPER:.*]] = updraft.read %[[LANES]][%[[UPPER_LANE]]] : !updraft.elements<f64>, i64 -> vector<8xf64>
// CHECK:           %[[EMPTY:.*]] = arith.constant dense<0.000000e+00> : vector<8xf64>
// CHECK:           updraft.write %[[EMPTY]], %[[LANES]][%[[UPPER_LANE]]] : vector<8xf64>, !updraft.elements<f64>, i64
// CHECK:           %[[LOWER_LANE:.*]] = arith.muli %[[TO]]
// CHECK:           %[[LOWER:.*]] = updraft.read %[[LANES]][%[[LOWER_LANE]]] : !updraft.elements<f64>, i64 -> vector<8xf64>
// CHECK:           %[[BOTH:.*]] = arith.addf %[[LOWER]], %[[UPPER]] : vector<8xf64>
// CHECK:           updraft.write %[[BOTH]], %[[LANES]][%[[LOWER_LANE]]] : vector<8xf64>, !updraft.elements<f64>, i64
// CHECK:         arith.addf {{.*}} : vector<4xf64>
// CHECK:         %[[LAST:.*]] = arith.addf {{.*}} : vector<2xf64>
// CHECK:         %[[FIRST:.*]] = vector.shuffle %[[LAST]], %[[LAST]] [0]
// CHECK:         %[[SECOND:.*]] = vector.shuffle %[[LAST]], %[[LAST]] [1]
// CHECK:         %[[TOTAL:.*]] = arith.addf %[[FIRST]], %[[SECOND]] : vector<1xf64>
// CHECK:         %[[VALUE:.*]] = vector.extract %[[TOTAL]][0]
// CHECK:         updraft.write %{{.*}}, %[[LANES]][%{{.*}}] : vector<8xf64>, !updraft.elements<f64>, i64
// CHECK:         return %[[VALUE]] : f64

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
// A short leaf has values for a few groups of lanes only.
// CHECK:           %[[LENGTH:.*]] = arith.subi %[[LEAF_END]], %[[LEAF]] : i64
// CHECK:           math.ctlz
// CHECK:           %[[GROUPS:.*]] = arith.shli
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
// CHECK:           %[[SUM_OF_LEAF:.*]] = func.call @updraft.take.sum(%[[SUMS]], %[[GROUPS]]) : (!updraft.elements<f64>, i64) -> f64
// CHECK:           %[[SLOT0:.*]] = llvm.getelementptr inbounds %[[OF_LEAF]][0]
// CHECK:           llvm.store %[[SUM_OF_LEAF]], %[[SLOT0]]
// CHECK:           %[[MAXIMUM_OF_LEAF:.*]] = func.call @updraft.take.max(%[[MAXIMA]], %[[GROUPS]])
// CHECK:           %[[SLOT1:.*]] = llvm.getelementptr inbounds %[[OF_LEAF]][1]
// CHECK:           llvm.store %[[MAXIMUM_OF_LEAF]], %[[SLOT1]]
// CHECK:           %[[AFTER:.*]] = llvm.getelementptr inbounds %[[OF_LEAF]][2]
// CHECK:           scf.yield %[[AFTER]] : !llvm.ptr
// CHECK:         scf.yield %[[NEXT]] : !llvm.ptr
