// Roots and fused operations are LLVM's, which NVPTX rounds to nearest; no library is called.
// RUN: updraft-opt %s --pass-pipeline="builtin.module(gpu.module(convert-updraft-gpu-to-nvvm))" | FileCheck %s

// CHECK-LABEL: llvm.func @kernel(
// CHECK-SAME:      attributes {{{.*}}gpu.kernel{{.*}}nvvm.kernel
// CHECK:         nvvm.read.ptx.sreg.tid.x
// CHECK:         llvm.intr.sqrt
// CHECK:         llvm.intr.fma
// CHECK:         llvm.fdiv
// CHECK:         nvvm.shfl.sync  bfly
// CHECK-NOT:     __nv
gpu.module @kernels {
  gpu.func @kernel(%data: !llvm.ptr<1>) kernel {
    %thread = gpu.thread_id x
    %0 = arith.index_cast %thread : index to i64
    %1 = llvm.getelementptr %data[%0] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %x = llvm.load %1 : !llvm.ptr<1> -> f32
    %root = math.sqrt %x : f32
    %fused = math.fma %root, %x, %x : f32
    %quotient = arith.divf %fused, %x : f32
    %width = arith.constant 32 : i32
    %one = arith.constant 1 : i32
    %bits = arith.bitcast %quotient : f32 to i32
    %other, %valid = gpu.shuffle xor %bits, %one, %width : i32
    llvm.store %other, %1 : i32, !llvm.ptr<1>
    gpu.return
  }
}
