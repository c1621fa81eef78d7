// Elementary functions of scalars become calls of functions with their expansions, one for each
// operation and type.
// RUN: updraft-opt %s -updraft-outline-math -split-input-file | FileCheck %s

// CHECK:       func.func private @updraft.powf.f64(%[[X:.*]]: f64, %[[Y:.*]]: f64) -> f64
// CHECK-SAME:      attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = ["optnone", "noinline"]}
// CHECK-NOT:     math.powf
// CHECK:         math.absf %[[X]] : f64
// CHECK-NOT:     math.powf
// CHECK:         arith.select
// CHECK-NOT:     math.powf
// CHECK:         return %{{.*}} : f64

// CHECK-LABEL: func.func @pow(
// CHECK-SAME:      %[[A:.*]]: f64, %[[B:.*]]: f64) -> f64
// CHECK-NEXT:    %[[FIRST:.*]] = call @updraft.powf.f64(%[[A]], %[[B]]) : (f64, f64) -> f64
// CHECK-NEXT:    %[[SECOND:.*]] = call @updraft.powf.f64(%[[FIRST]], %[[A]]) : (f64, f64) -> f64
// CHECK-NEXT:    return %[[SECOND]] : f64
func.func @pow(%a: f64, %b: f64) -> f64 {
  %0 = math.powf %a, %b : f64
  %1 = math.powf %0, %a : f64
  return %1 : f64
}

// Also in another function.
// CHECK-LABEL: func.func @powAgain(
// CHECK-NEXT:    call @updraft.powf.f64
func.func @powAgain(%a: f64) -> f64 {
  %0 = math.powf %a, %a : f64
  return %0 : f64
}

// -----

// Each type and each operation has its own function, in loops as well.
// CHECK-DAG: func.func private @updraft.exp.f32(%{{.*}}: f32) -> f32
// CHECK-DAG: func.func private @updraft.exp.f64(%{{.*}}: f64) -> f64
// CHECK-DAG: func.func private @updraft.log.f64(%{{.*}}: f64) -> f64
// CHECK-DAG: func.func private @updraft.tanh.f64(%{{.*}}: f64) -> f64
// CHECK-LABEL: func.func @others(
// CHECK:         call @updraft.exp.f32
// CHECK:         call @updraft.exp.f64
// CHECK:         scf.if
// CHECK:           call @updraft.log.f64
// CHECK:         call @updraft.tanh.f64
func.func @others(%a: f32, %b: f64, %c: i1) -> (f32, f64) {
  %0 = math.exp %a : f32
  %1 = math.exp %b : f64
  %2 = scf.if %c -> f64 {
    %3 = math.log %1 : f64
    scf.yield %3 : f64
  } else {
    scf.yield %1 : f64
  }
  %4 = math.tanh %2 : f64
  return %0, %4 : f32, f64
}

// -----

// A function in the module with that name isn't called instead.
// CHECK:       func.func private @[[EXP:updraft.exp.f64_[0-9]+]](%{{.*}}: f64) -> f64
// CHECK:       func.func private @updraft.exp.f64(f64) -> f64
// CHECK:         call @[[EXP]](
func.func private @updraft.exp.f64(f64) -> f64
func.func @taken(%a: f64) -> f64 {
  %0 = math.exp %a : f64
  return %0 : f64
}

// -----

// Also on vectors, in functions that LLVM optimizes.
// CHECK:       func.func private @updraft.exp.v4f32(%[[X:.*]]: vector<4xf32>) -> vector<4xf32>
// CHECK-SAME:      attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = ["noinline"]}
// CHECK-NOT:     math.exp
// CHECK:         arith.constant dense<{{.*}}> : vector<4xf32>
// CHECK:         math.fma {{.*}} : vector<4xf32>
// CHECK:         return %{{.*}} : vector<4xf32>
// CHECK:       func.func private @updraft.powf.v2f32(%{{.*}}: vector<2xf32>, %{{.*}}: vector<2xf32>) -> vector<2xf32>
// CHECK:         arith.extf {{.*}} : vector<2xf32> to vector<2xf64>
// CHECK-LABEL: func.func @vectors(
// CHECK-NEXT:    call @updraft.powf.v2f32
// CHECK-NEXT:    call @updraft.exp.v4f32
func.func @vectors(%a: vector<4xf32>, %b: vector<2xf32>) -> (vector<4xf32>, vector<2xf32>) {
  %0 = math.powf %b, %b : vector<2xf32>
  %1 = math.exp %a : vector<4xf32>
  return %1, %0 : vector<4xf32>, vector<2xf32>
}

// -----

// The same for powers with an integer exponent that updraft-expand-math doesn't expand.
// CHECK:       func.func private @updraft.fpowi.f64(%{{.*}}: f64, %{{.*}}: i64) -> f64
// CHECK:         scf.while
// CHECK-LABEL: func.func @power(
// CHECK-NEXT:    call @updraft.fpowi.f64
func.func @power(%a: f64, %n: i64) -> f64 {
  %0 = math.fpowi %a, %n : f64, i64
  return %0 : f64
}

// -----

// Kernels call functions in their own module.
// CHECK:       gpu.module @kernels
// CHECK:         func.func private @updraft.exp.f32
// CHECK:         gpu.func @kernel
// CHECK:           call @updraft.exp.f32
gpu.module @kernels {
  gpu.func @kernel(%a: f32, %p: !llvm.ptr) kernel {
    %0 = math.exp %a : f32
    llvm.store %0, %p : f32, !llvm.ptr
    gpu.return
  }
}

// -----

// Vectors of two dimensions and other functions don't change.
// CHECK-LABEL: func.func @stay(
// CHECK:         math.exp %{{.*}} : vector<4x2xf32>
// CHECK:         math.sqrt %{{.*}} : f64
// CHECK-NOT:   func.func private
func.func @stay(%a: vector<4x2xf32>, %b: f64) -> (vector<4x2xf32>, f64) {
  %0 = math.exp %a : vector<4x2xf32>
  %1 = math.sqrt %b : f64
  return %0, %1 : vector<4x2xf32>, f64
}
