// Random bits of elements: values that depend only on the tensor are loaded once, the counter of an
// element contains its index, and ten rounds follow.
// RUN: updraft-opt %s --convert-updraft-plan-to-loops="vector-bits=128 mask-remainder=false" \
// RUN:   | FileCheck %s

updraft.plan @R compute f64 {
  %p = updraft.stream "param" : !updraft.stream<f64>
  %g = updraft.stream "grad" : !updraft.stream<f64>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep writes(%p : !updraft.stream<f64>) {
    %bits = updraft.random 3
    %x = arith.bitcast %bits : i64 to f64
    updraft.store %x : f64
  }
}

// CHECK-LABEL: func.func @R_sweep0(
// CHECK:         %[[SEED_AT:.*]] = llvm.getelementptr inbounds %[[SITE:.*]][0] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK:         %[[SEED:.*]] = llvm.load %[[SEED_AT]]
// CHECK:         %[[STEP_AT:.*]] = llvm.getelementptr inbounds %[[SITE]][1]
// CHECK:         %[[STEP:.*]] = llvm.load %[[STEP_AT]]
// CHECK:         %[[TENSOR_AT:.*]] = llvm.getelementptr inbounds %[[SITE]][2]
// CHECK:         %[[TENSOR:.*]] = llvm.load %[[TENSOR_AT]]
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to
// CHECK:           %[[LANES:.*]] = arith.constant dense<[0, 1]> : vector<2xi64>
// CHECK:           %[[FIRST:.*]] = vector.broadcast %[[I]] : i64 to vector<2xi64>
// CHECK:           %[[INDEX:.*]] = arith.addi %[[FIRST]], %[[LANES]] : vector<2xi64>
// CHECK:           %[[SIXTEEN:.*]] = arith.constant 16 : i64
// CHECK:           %[[SCALED:.*]] = arith.muli %[[TENSOR]], %[[SIXTEEN]] : i64
// CHECK:           %[[STREAM:.*]] = arith.constant 3 : i64
// CHECK:           arith.addi %[[SCALED]], %[[STREAM]] : i64
// CHECK:           arith.andi %[[INDEX]]
// CHECK:           arith.shrui %[[INDEX]]
// CHECK:           arith.andi %[[STEP]]
// CHECK:           arith.andi %[[SEED]]
// CHECK:           arith.shrui %[[SEED]]
// CHECK-COUNT-10:  arith.constant dense<3528531795> : vector<2xi64>
// CHECK-NOT:       dense<3528531795>
// CHECK:           arith.bitcast %{{.*}} : vector<2xi64> to vector<2xf64>
//
// The same for the remainder, one element at a time.
// CHECK:         scf.for
// CHECK-COUNT-10:  arith.constant 3528531795 : i64
// CHECK:           arith.bitcast %{{.*}} : i64 to f64
