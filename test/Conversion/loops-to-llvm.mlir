// All dialects of the loops are lowered to the LLVM dialect together, and arithmetic keeps its
// meaning.
// RUN: updraft-opt %s --convert-updraft-loops-to-llvm | FileCheck %s

// CHECK-LABEL: llvm.func @arithmetic
func.func @arithmetic(%row: !llvm.ptr, %begin: i64, %end: i64) {
  %step = arith.constant 4 : i64
  %x = llvm.load %row {alignment = 4 : i64} : !llvm.ptr -> f32
  // CHECK: llvm.insertelement
  // CHECK: llvm.shufflevector
  %xs = vector.broadcast %x : f32 to vector<4xf32>
  // CHECK: llvm.icmp "slt"
  // CHECK: llvm.cond_br
  scf.for %i = %begin to %end step %step : i64 {
    %at = llvm.getelementptr inbounds %row[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %y = llvm.load %at {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
    // A product and a sum stay two operations, without fast-math flags.
    // CHECK: %[[PRODUCT:.*]] = llvm.fmul %{{.*}}, %{{.*}} : vector<4xf32>
    // CHECK: %[[SUM:.*]] = llvm.fadd %[[PRODUCT]], %{{.*}} : vector<4xf32>
    %0 = arith.mulf %xs, %y : vector<4xf32>
    %1 = arith.addf %0, %y : vector<4xf32>
    // CHECK: llvm.intr.sqrt(%[[SUM]]) : (vector<4xf32>) -> vector<4xf32>
    %2 = math.sqrt %1 : vector<4xf32>
    // CHECK: llvm.intr.maximum
    %3 = arith.maximumf %2, %y : vector<4xf32>
    // CHECK: llvm.intr.fma
    %4 = math.fma %3, %y, %1 : vector<4xf32>
    // CHECK-NOT: fastmath
    llvm.store %4, %at {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr
  }
  // CHECK: llvm.return
  return
}

// CHECK-LABEL: llvm.func @host
func.func @host(%x: f64) -> f64 {
  // CHECK: llvm.intr.pow
  %0 = math.powf %x, %x : f64
  return %0 : f64
}
