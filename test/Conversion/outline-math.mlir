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

// In another function too.
// CHECK-LABEL: func.func @powAgain(
// CHECK-NEXT:    call @updraft.powf.f64
func.func @powAgain(%a: f64) -> f64 {
  %0 = math.powf %a, %a : f64
  return %0 : f64
}

// -----

// Each type has its function, and each operation, in loops as well.
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

// A function of the module that has the name is not called for it.
// CHECK:       func.func private @[[EXP:updraft.exp.f64_[0-9]+]](%{{.*}}: f64) -> f64
// CHECK:       func.func private @updraft.exp.f64(f64) -> f64
// CHECK:         call @[[EXP]](
func.func private @updraft.exp.f64(f64) -> f64
func.func @taken(%a: f64) -> f64 {
  %0 = math.exp %a : f64
  return %0 : f64
}

// -----

// Vectors and other functions stay.
// CHECK-LABEL: func.func @stay(
// CHECK:         math.exp %{{.*}} : vector<4xf32>
// CHECK:         math.sqrt %{{.*}} : f64
// CHECK-NOT:   func.func private
func.func @stay(%a: vector<4xf32>, %b: f64) -> (vector<4xf32>, f64) {
  %0 = math.exp %a : vector<4xf32>
  %1 = math.sqrt %b : f64
  return %0, %1 : vector<4xf32>, f64
}
