// RUN: updraft-opt %s -convert-updraft-plan-to-loops="vector-bits=256 mask-remainder=false" | FileCheck %s
// Square roots that a rule computes from companded values are kept, and used as codes if no value
// is negative.

updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %v = updraft.stream "v" : !updraft.stream<!updraft.blocked<companded>>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%g, %v : !updraft.stream<f32>, !updraft.stream<!updraft.blocked<companded>>)
      writes(%p, %v : !updraft.stream<f32>, !updraft.stream<!updraft.blocked<companded>>) {
  ^bb0(%grad: f32, %old: f32):
    %new = arith.addf %grad, %old : f32
    %root = math.sqrt %new : f32
    updraft.store %root, %new : f32, f32
  }
}

// CHECK-LABEL: func.func @P_sweep0
// CHECK: %[[VALUES:.*]] = updraft.scratch 512 : <f32>
// CHECK: %[[ROOTS:.*]] = updraft.scratch 512 : <f32>
// CHECK: %[[VALUES_HERE:.*]] = updraft.shift %[[VALUES]][%{{.*}}] outside : <f32>, i64
// CHECK: %[[ROOTS_HERE:.*]] = updraft.shift %[[ROOTS]][%{{.*}}] outside : <f32>, i64

// One loop computes a block, finds its extremes and codes the last value, whose code is at least
// the extreme found for it.
// CHECK: scf.if {{.*}} -> (i1, i1, f32, f32, i32, i8)
// CHECK: %[[ROOTS_BEFORE:.*]] = updraft.shift %[[ROOTS]][%{{.*}}] outside : <f32>, i64
// CHECK: %[[FOUND:.*]]:2 = scf.for %[[I:[a-z0-9_]+]] = {{.*}} iter_args(%[[LARGEST:.*]] = %{{.*}}, %[[SMALLEST:.*]] = %{{.*}})
// CHECK: %[[KEPT:.*]] = updraft.read %[[ROOTS_BEFORE]][%[[I]]] : !updraft.elements<f32>, i64 -> vector<8xf32>
// CHECK: %[[UNITS:.*]] = math.fma %[[KEPT]],
// CHECK: %[[BITS:.*]] = arith.bitcast %[[UNITS]] : vector<8xf32> to vector<8xi32>
// CHECK-NOT: arith.subi
// CHECK: %[[NEW:.*]] = arith.addf {{.*}} : vector<8xf32>
// CHECK: %[[ROOT:.*]] = math.sqrt %[[NEW]] : vector<8xf32>
// CHECK-NOT: math.sqrt
// CHECK: updraft.write %[[NEW]], %[[VALUES_HERE]][%[[I]]] : vector<8xf32>, !updraft.elements<f32>, i64
// CHECK: arith.maxui %[[LARGEST]]
// CHECK: arith.minui %[[SMALLEST]]
// CHECK: updraft.write %[[ROOT]], %[[ROOTS_HERE]][%[[I]]] : vector<8xf32>, !updraft.elements<f32>, i64
// CHECK: %[[BYTES:.*]] = vector.bitcast %[[BITS]] : vector<8xi32> to vector<32xi8>
// CHECK: %[[CODES:.*]] = vector.shuffle %[[BYTES]], %[[BYTES]] [0, 4, 8, 12, 16, 20, 24, 28]
// CHECK: arith.maxui %[[CODES]], %{{.*}} : vector<8xi8>
// CHECK: scf.yield

// A negative value is searched again.
// CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[FOUND]]#0
// CHECK: vector.reduction <or>, %[[BELOW]]
// CHECK: scf.if
// CHECK: arith.maxsi
// CHECK: else

// Otherwise they are coded separately, from values or from roots.
// CHECK: updraft.shift %[[VALUES]][%{{.*}}] outside : <f32>, i64
// CHECK: math.sqrt {{.*}} : vector<8xf32>
// CHECK: else
// CHECK-NOT: math.sqrt
// CHECK: updraft.shift %[[ROOTS]][%{{.*}}] outside : <f32>, i64
// CHECK: arith.trunci {{.*}} : vector<8xi32> to vector<8xi8>
