// Roots and fused operations become LLVM's, which NVPTX rounds to nearest, except marked ones.
// There are no library calls.
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

// Operations that updraft-approximate has marked, lane by lane; f64 has no such instructions.
// CHECK-LABEL: llvm.func @approximations(
// CHECK:         %[[ROOT:.*]] = llvm.call_intrinsic "llvm.nvvm.sqrt.approx.f"(%{{.*}}) : (f32) -> f32
// CHECK:         %[[INVERSE:.*]] = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"(%[[ROOT]]) : (f32) -> f32
// CHECK:         llvm.call_intrinsic "llvm.nvvm.div.full"(%[[INVERSE]], %{{.*}}) : (f32, f32) -> f32
// CHECK:         %[[FIRST:.*]] = llvm.call_intrinsic "llvm.nvvm.div.full"
// CHECK:         %[[PAIR:.*]] = llvm.insertelement %[[FIRST]], %{{.*}}[%{{.*}} : i32] : vector<2xf32>
// CHECK:         %[[SECOND:.*]] = llvm.call_intrinsic "llvm.nvvm.div.full"
// CHECK:         llvm.insertelement %[[SECOND]], %[[PAIR]][%{{.*}} : i32] : vector<2xf32>
// CHECK:         llvm.fdiv {{.*}} : f64
gpu.module @approximating {
  gpu.func @approximations(%data: !llvm.ptr<1>, %x: f32, %pair: vector<2xf32>, %wide: f64) kernel {
    %root = math.sqrt %x fastmath<afn> : f32
    %inverse = math.rsqrt %root fastmath<afn> : f32
    %quotient = arith.divf %inverse, %x fastmath<afn> : f32
    llvm.store %quotient, %data : f32, !llvm.ptr<1>
    %quotients = arith.divf %pair, %pair fastmath<afn> : vector<2xf32>
    llvm.store %quotients, %data : vector<2xf32>, !llvm.ptr<1>
    %exact = arith.divf %wide, %wide fastmath<afn> : f64
    llvm.store %exact, %data : f64, !llvm.ptr<1>
    gpu.return
  }
}
