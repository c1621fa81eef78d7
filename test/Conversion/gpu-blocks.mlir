// States in blocks: a warp processes one block at a time, with two vectors in each thread, and
// stores codes after it has the extremes of all.
// RUN: updraft-opt %s --convert-updraft-plan-to-gpu --mlir-use-nameloc-as-prefix | FileCheck %s
// RUN: updraft-opt %s --pass-pipeline="builtin.module(convert-updraft-plan-to-gpu,gpu.module(convert-updraft-gpu-to-nvvm))" | FileCheck %s --check-prefix=NVVM
// RUN: updraft-opt %s --pass-pipeline="builtin.module(convert-updraft-plan-to-gpu,convert-updraft-gpu-to-emulator)" | FileCheck %s --check-prefix=EMULATOR

// CHECK-LABEL: gpu.func @P_sweep0(
//                  The scales, of which there is one for 256 elements, are the last stream. The sweep
//                  doesn't access the first.
// CHECK-SAME:      updraft.stream_bytes = array<i64: 0, 4, 1, 4>
// CHECK-SAME:      updraft.stream_extents = array<i64: 0, 0, 0, 4>
// CHECK:         %lane = arith.andi %member, %c31_i32
// CHECK:         %whole = arith.andi %length, %c-256_i32
// CHECK:         scf.if
// CHECK:           scf.for %quant_block = {{.*}} to %whole step %c256_i32
// CHECK:             updraft.read %m_scales[%[[BLOCK:.*]]] : !updraft.elements<f32, 1>, i64 -> f32
// CHECK:             updraft.read %[[CODES:.*]][%{{.*}}] alignment 4 : !updraft.elements<i8, 1>, i32 -> vector<4xi8>
// CHECK:             arith.constant 128 : i32
// CHECK:             updraft.read %[[CODES]][%{{.*}}] alignment 4 : !updraft.elements<i8, 1>, i32 -> vector<4xi8>
// CHECK:             vector.reduction <maxsi>
// CHECK:             gpu.subgroup_reduce maxsi {{.*}} uniform
// CHECK:             arith.xori
// CHECK:             gpu.subgroup_reduce maxsi {{.*}} uniform
// CHECK:             gpu.subgroup_reduce minsi {{.*}} uniform
// CHECK:             arith.divf
// CHECK-COUNT-2:     updraft.write %{{.*}}, %[[CODES]][%{{.*}}] alignment 4 : vector<4xi8>, !updraft.elements<i8, 1>, i32
// CHECK:             %[[MINE:.*]] = arith.cmpi eq, %lane, %c0_i32
// CHECK:             scf.if %[[MINE]]
// CHECK:               updraft.write %{{.*}}, %m_scales[%[[BLOCK]]] : f32, !updraft.elements<f32, 1>, i64
// CHECK:         } else {
// CHECK:             updraft.read %[[CODES]][%{{.*}}] : !updraft.elements<i8, 1>, i32 -> vector<4xi8>
//                The remainder: a vector may have no elements.
// CHECK:         scf.for %quant_block{{.*}} = %whole to %length
// CHECK:           %[[LEFT:.*]] = arith.subi %length
// CHECK:           updraft.read %[[CODES]][%{{.*}}] mask %{{.*}} : !updraft.elements<i8, 1>, i32, vector<4xi1> -> vector<4xi8>
// CHECK:           updraft.write %{{.*}}, %[[CODES]][%{{.*}}] mask %{{.*}} : vector<4xi8>, !updraft.elements<i8, 1>, i32, vector<4xi1>

//                The scale is stored after all threads have loaded it.
// NVVM: nvvm.bar.warp.sync
// NVVM: nvvm.redux.sync max
// NVVM: nvvm.redux.sync max
// NVVM: nvvm.redux.sync min

// EMULATOR-NOT: gpu.
// EMULATOR-COUNT-10: call @updraft_emulator_exchange
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %m = updraft.stream "m" : !updraft.stream<!updraft.blocked<linear>>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] { updraft.yield }
  updraft.sweep reads(%g, %m : !updraft.stream<f32>, !updraft.stream<!updraft.blocked<linear>>)
      writes(%m : !updraft.stream<!updraft.blocked<linear>>) {
  ^bb0(%grad: f32, %old: f32):
    %new = arith.addf %grad, %old : f32
    updraft.store %new : f32
  }
}
