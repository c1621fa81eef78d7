// The host functions of a plan become separate functions, with the arguments of kernel.h.
// RUN: updraft-opt %s --convert-updraft-plan-to-loops | FileCheck %s

updraft.plan @R compute f32 {
  %lr = updraft.hyper "lr" = 1.000000e-03
  %beta = updraft.hyper "beta" = 9.000000e-01
  %step = updraft.step
  %first = updraft.first
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %m = updraft.stream "m" : !updraft.stream<f32>
  %v = updraft.stream "v" : !updraft.stream<f32>

  // CHECK-LABEL: func.func @R_initial(
  // CHECK-SAME:      %[[HYPER:[a-z0-9_]+]]: !llvm.ptr, %[[INITIAL:[a-z0-9_]+]]: !llvm.ptr) attributes {passthrough = ["optnone", "noinline"]} {
  // CHECK:         %[[BETA_AT:.*]] = llvm.getelementptr inbounds %[[HYPER]][1] : (!llvm.ptr) -> !llvm.ptr, f64
  // CHECK:         %[[BETA:.*]] = llvm.load %[[BETA_AT]] {alignment = 8 : i64} : !llvm.ptr -> f64
  // CHECK:         %[[M:.*]] = llvm.getelementptr inbounds %[[INITIAL]][0]
  // CHECK:         llvm.store %[[BETA]], %[[M]] {alignment = 8 : i64} : f64, !llvm.ptr
  // CHECK:         %[[V:.*]] = llvm.getelementptr inbounds %[[INITIAL]][1]
  // CHECK:         llvm.store %{{.*}}, %[[V]]
  // CHECK-NOT:     llvm.store
  // CHECK:         return
  updraft.initial(%beta) {
  ^bb0(%b: f64):
    %zero = arith.constant 0.000000e+00 : f64
    updraft.yield %b, %zero : f64, f64
  }

  // CHECK-LABEL: func.func @R_validate(%{{[a-z0-9_]+}}: !llvm.ptr) -> i32 attributes {passthrough = ["optnone", "noinline"]} {
  // CHECK:         %[[FIRST:.*]] = arith.cmpf oge
  // CHECK:         %[[SECOND:.*]] = arith.cmpf olt
  // CHECK:         %[[NONE:.*]] = arith.constant -1 : i32
  // CHECK:         %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK:         %[[FROM_SECOND:.*]] = arith.select %[[SECOND]], %[[NONE]], %[[ONE]] : i32
  // CHECK:         %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK:         %[[RESULT:.*]] = arith.select %[[FIRST]], %[[FROM_SECOND]], %[[ZERO]] : i32
  // CHECK:         return %[[RESULT]] : i32
  updraft.validate(%lr, %beta) messages ["lr is too small", "beta is too large"] {
  ^bb0(%l: f64, %b: f64):
    %zero = arith.constant 0.000000e+00 : f64
    %one = arith.constant 1.000000e+00 : f64
    %0 = arith.cmpf oge, %l, %zero : f64
    %1 = arith.cmpf olt, %b, %one : f64
    updraft.yield %0, %1 : i1, i1
  }

  // Row slot 0 is the skip flag; flags are stored as 0 and 1.
  // CHECK-LABEL: func.func @R_prologue0(
  // CHECK-SAME:      %[[HYPER:[a-z0-9_]+]]: !llvm.ptr, %[[FACTS:[a-z0-9_]+]]: !llvm.ptr, %{{[a-z0-9_]+}}: !llvm.ptr, %{{[a-z0-9_]+}}: !llvm.ptr,
  // CHECK-SAME:      %[[ROW:[a-z0-9_]+]]: !llvm.ptr, %{{[a-z0-9_]+}}: !llvm.ptr) attributes {passthrough = ["optnone", "noinline"]} {
  // CHECK:         %[[NO:.*]] = arith.constant 0.000000e+00 : f32
  // CHECK:         %[[SKIP:.*]] = llvm.getelementptr inbounds %[[ROW]][0]
  // CHECK:         llvm.store %[[NO]], %[[SKIP]]
  // CHECK:         llvm.getelementptr inbounds %[[FACTS]][1]
  // CHECK:         %[[IS_FIRST:.*]] = arith.cmpf une, %{{.*}}, %{{.*}} : f64
  // CHECK:         %[[STEP_AT:.*]] = llvm.getelementptr inbounds %[[FACTS]][0]
  // CHECK:         %[[STEP:.*]] = llvm.load %[[STEP_AT]]
  // CHECK:         %[[POWER:.*]] = math.powf %{{.*}}, %[[STEP]] : f64
  // CHECK:         %[[ROUNDED:.*]] = arith.truncf %[[POWER]] : f64 to f32
  // CHECK:         %[[FLAG:.*]] = arith.uitofp %[[IS_FIRST]] : i1 to f32
  // CHECK:         %[[SLOT1:.*]] = llvm.getelementptr inbounds %[[ROW]][1]
  // CHECK:         llvm.store %[[FLAG]], %[[SLOT1]]
  // CHECK:         %[[SLOT2:.*]] = llvm.getelementptr inbounds %[[ROW]][2]
  // CHECK:         llvm.store %[[ROUNDED]], %[[SLOT2]] {alignment = 4 : i64} : f32, !llvm.ptr
  %k:2 = updraft.prologue(%first, %beta, %step) : (i1, f64, f64) -> (i1, f32) {
  ^bb0(%f: i1, %b: f64, %t: f64):
    %0 = math.powf %b, %t : f64
    %1 = arith.truncf %0 : f64 to f32
    updraft.yield %f, %1 : i1, f32
  }
}
// CHECK-NOT: updraft.plan
