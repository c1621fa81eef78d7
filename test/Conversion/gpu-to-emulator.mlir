// Kernels as functions of one thread, and the functions of a CPU that launch them.
// RUN: updraft-opt %s --convert-updraft-gpu-to-emulator | FileCheck %s

// CHECK-DAG: func.func private @updraft_emulator_thread() -> i64
// CHECK-DAG: func.func private @updraft_emulator_exchange(i32, i32) -> i32
// CHECK-DAG: func.func private @updraft_emulator_check(!llvm.ptr<1>, i64)
// CHECK-NOT: gpu.
// CHECK-LABEL: func.func @R_sweep0_kernel(%arg0: !llvm.ptr)
// CHECK:         %[[FIRST:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK:         %[[DATA:.*]] = llvm.load %[[FIRST]] {{.*}} : !llvm.ptr -> !llvm.ptr<1>
// CHECK:         %[[THREAD:.*]] = call @updraft_emulator_thread() : () -> i64
// CHECK:         %[[AT:.*]] = llvm.getelementptr %[[DATA]][%{{.*}}]
// CHECK:         %[[FOUR:.*]] = arith.constant 4 : i64
// CHECK:         call @updraft_emulator_check(%[[AT]], %[[FOUR]])
// CHECK:         llvm.load %[[AT]]
// CHECK:         %[[OTHER:.*]] = call @updraft_emulator_exchange(
// CHECK:         %[[SIXTEEN:.*]] = arith.constant 16 : i64
// CHECK:         call @updraft_emulator_check(%[[AT]], %[[SIXTEEN]])
// CHECK:         llvm.store
//                As many elements as the mask allows.
// CHECK:         %[[LANE:.*]] = arith.constant 4 : i64
// CHECK:         %[[LANES:.*]] = vector.reduction <add>
// CHECK:         %[[BYTES:.*]] = arith.muli %[[LANE]], %[[LANES]]
// CHECK:         call @updraft_emulator_check(%[[AT]], %[[BYTES]])
// CHECK:         llvm.intr.masked.store
// CHECK:         return
// CHECK-LABEL: func.func @R_sweep0(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr, %arg3: i64, %arg4: !llvm.ptr, %arg5: !llvm.ptr)
// CHECK:         %[[KERNEL:.*]] = constant @R_sweep0_kernel
// CHECK:         %[[SIZES:.*]] = llvm.mlir.addressof @R_sweep0_stream_bytes
// CHECK:         %[[EXTENTS:.*]] = llvm.mlir.addressof @R_sweep0_stream_extents
// CHECK:         call @updraft_emulator_sweep(%[[KERNEL]], %[[SIZES]], %[[EXTENTS]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %arg0, %arg1, %arg2, %arg3, %arg4, %arg5)
// CHECK:       llvm.mlir.global internal constant @R_sweep0_stream_bytes(dense<[4, 2]> : tensor<2xi64>)
gpu.module @kernels {
  gpu.func @R_sweep0(%data: !llvm.ptr<1>) kernel attributes {
      updraft.stream_bytes = array<i64: 4, 2>, updraft.stream_extents = array<i64: 0, 1>, updraft.loop = 1 : i64,
      updraft.row_bytes = 8 : i64, updraft.partial_count = 1 : i64} {
    %thread = gpu.thread_id x
    %0 = arith.index_cast %thread : index to i64
    %1 = llvm.getelementptr %data[%0] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %x = llvm.load %1 : !llvm.ptr<1> -> i32
    %width = arith.constant 32 : i32
    %other, %valid = gpu.shuffle xor %x, %x, %width : i32
    %four = vector.broadcast %other : i32 to vector<4xi32>
    llvm.store %four, %1 : vector<4xi32>, !llvm.ptr<1>
    %mask = arith.constant dense<[true, true, false, false]> : vector<4xi1>
    llvm.intr.masked.store %four, %1, %mask {alignment = 4 : i32} : vector<4xi32>, vector<4xi1> into !llvm.ptr<1>
    gpu.return
  }
}
