// GPUs round values to bf16 with their own conversion, two at a time; the emulator uses integer
// arithmetic.
// RUN: updraft-opt %s --convert-updraft-plan-to-gpu --mlir-use-nameloc-as-prefix | FileCheck %s
// RUN: updraft-opt %s --pass-pipeline="builtin.module(convert-updraft-plan-to-gpu,convert-updraft-gpu-to-emulator)" | FileCheck %s --check-prefix=EMULATOR

// CHECK-LABEL: gpu.func @Half_sweep0(
// CHECK:         %[[ROUNDED:.*]] = arith.truncf %{{.*}} : vector<8xf32> to vector<8xbf16>
// CHECK:         %[[BITS:.*]] = arith.bitcast %[[ROUNDED]] : vector<8xbf16> to vector<8xi16>
// CHECK:         updraft.write %[[BITS]], %{{.*}}[%i] alignment 16 : vector<8xi16>, !updraft.elements<i16, 1>, i32

// EMULATOR-LABEL: func.func @Half_sweep0_kernel
// EMULATOR-NOT:     arith.truncf {{.*}}bf16
// EMULATOR:         %[[HALF:.*]] = arith.constant dense<32767> : vector<8xi32>
// EMULATOR:         arith.addi %{{.*}}, %[[HALF]]
// EMULATOR:         arith.select
// EMULATOR-NOT:     arith.truncf {{.*}}bf16
updraft.plan @Half compute f32 {
  %p = updraft.stream "param" : !updraft.stream<bf16>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  updraft.sweep reads(%p, %g : !updraft.stream<bf16>, !updraft.stream<bf16>) writes(%p : !updraft.stream<bf16>) {
  ^bb0(%param: f32, %grad: f32):
    %0 = arith.subf %param, %grad : f32
    updraft.store %0 : f32
  }
}
