// Kernels of a plan: a thread for each tensor's prologue, a block for each chunk of a sweep.
// RUN: updraft-opt %s --convert-updraft-plan-to-gpu --mlir-use-nameloc-as-prefix | FileCheck %s
// RUN: updraft-opt %s --convert-updraft-plan-to-gpu="access-bits=256" | FileCheck %s --check-prefix=WIDE
// RUN: not updraft-opt %s --convert-updraft-plan-to-gpu="access-bits=64" 2>&1 | FileCheck %s --check-prefix=BITS
// BITS: 'updraft.plan' op cannot be lowered to accesses of 64 bits, must be 128 or 256

// Functions that a step doesn't call stay on the host.
// CHECK: func.func @SGD_initial(
// CHECK: func.func @SGD_validate(
// CHECK: gpu.module @kernels {

// CHECK-LABEL: gpu.func @SGD_prologue0(
// CHECK-SAME:      %tensors: !llvm.ptr<1>, %count: i64) kernel attributes {known_block_size = array<i32: 256, 1, 1>, updraft.flag_bytes = 4 : i64} {
// CHECK:         %thread = arith.index_cast %thread_id_x
// CHECK:         %block = arith.index_cast %block_id_x
// CHECK:         %blocks = arith.index_cast %grid_dim_x
// CHECK:         %[[BEFORE:.*]] = arith.muli %block, %c256_i64
// CHECK:         %[[FIRST:.*]] = arith.addi %[[BEFORE]], %thread
// CHECK:         %[[ALL:.*]] = arith.muli %blocks, %c256_i64
// CHECK:         scf.for %t = %[[FIRST]] to %count step %[[ALL]]
// A skipped tensor doesn't change.
// CHECK:           %row = llvm.load
// CHECK:           %skip = llvm.load %row {{.*}} : !llvm.ptr<1> -> f32
// CHECK:           %[[KEPT:.*]] = arith.cmpf oeq, %skip, %{{.*}} : f32
// CHECK:           scf.if %[[KEPT]] {
// CHECK:             %hyper = llvm.load
// CHECK:             %[[LR:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f64
// CHECK:             %[[RATE:.*]] = arith.truncf %[[LR]] : f64 to f32
// CHECK:             llvm.store %[[RATE]]

// CHECK-LABEL: gpu.func @SGD_sweep0(
// CHECK-SAME:      %chunks: !llvm.ptr<1>, %count: i64, %streams: !llvm.ptr<1>, %rows: !llvm.ptr<1>, %partials: !llvm.ptr<1>, %sites: !llvm.ptr<1>)
// CHECK:         scf.for %chunk = %block to %count step %blocks
// CHECK:           %begin = llvm.load
// CHECK:           %end = llvm.load
// CHECK:           %tensor = llvm.load
// CHECK:           %aligned = llvm.load
//                  A skipped step doesn't count.
// CHECK:           %skip = llvm.load
// CHECK:           %[[TAKEN:.*]] = arith.cmpf ueq, %skip, %{{.*}} : f32
// CHECK:           scf.if %[[TAKEN]] {
// CHECK:             %param_data = updraft.locate %[[STREAMS:.*]][0] : !llvm.ptr<1> -> <f32, 1>
// CHECK:             %grad_data = updraft.locate %[[STREAMS]][1] : !llvm.ptr<1> -> <f32, 1>
//                    Numbers of elements have 32 bits, because they start at the chunk's first one.
// CHECK:             updraft.shift %param_data[%begin] : <f32, 1>, i64
// CHECK:             %[[GRAD:.*]] = updraft.shift %grad_data[%begin] : <f32, 1>, i64
//                    Whole vectors if memory is aligned, else single elements.
// CHECK:             %middle = arith.select %{{.*}}, %{{.*}}, %c0_i32
// CHECK:             scf.for %i = {{.*}} to %middle step %c1024_i32
// CHECK:               updraft.read %[[PARAM:.*]][%i] alignment 16 : !updraft.elements<f32, 1>, i32 -> vector<4xf32>
// CHECK:               updraft.read %[[GRAD]][%i] alignment 16 : !updraft.elements<f32, 1>, i32 -> vector<4xf32>
// CHECK:               updraft.write %{{.*}}, %[[PARAM]][%i] alignment 16 : vector<4xf32>, !updraft.elements<f32, 1>, i32
// CHECK:             scf.for %i = {{.*}} to %length step %c256_i32
// CHECK:               updraft.read %[[PARAM]][%i] : !updraft.elements<f32, 1>, i32 -> f32
// CHECK:               updraft.read %[[GRAD]][%i] : !updraft.elements<f32, 1>, i32 -> f32
// CHECK:               updraft.write %{{.*}}, %[[PARAM]][%i] : f32, !updraft.elements<f32, 1>, i32

// WIDE: updraft.read %{{.*}}[%{{.*}}] alignment 32 : !updraft.elements<f32, 1>, i32 -> vector<8xf32>
// WIDE: updraft.write %{{.*}}, %{{.*}}[%{{.*}}] alignment 32 : vector<8xf32>, !updraft.elements<f32, 1>, i32
updraft.plan @SGD compute f32 {
  %lr = updraft.hyper "lr" = 0.1
  %param = updraft.stream "param" : <f32>
  %grad = updraft.stream "grad" : <f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %rate = updraft.prologue(%lr) : (f64) -> f32 {
  ^bb0(%l: f64):
    %0 = arith.truncf %l : f64 to f32
    updraft.yield %0 : f32
  }
  updraft.sweep scalars(%rate : f32) reads(%param, %grad : !updraft.stream<f32>, !updraft.stream<f32>) writes(%param : !updraft.stream<f32>) {
  ^bb0(%r: f32, %p: f32, %g: f32):
    %0 = arith.mulf %r, %g : f32
    %1 = arith.subf %p, %0 : f32
    updraft.store %1 : f32
  }
}
