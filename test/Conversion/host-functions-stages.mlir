// Prologues between sweeps: rows are numbered consecutively, and the next scalar states and the
// skip flag have separate slots.
// RUN: updraft-opt %s --convert-updraft-plan-to-loops | FileCheck %s

updraft.plan @R compute f32 {
  %n = updraft.size over tensor
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %mu = updraft.scalar "mu" over tensor stored f32
  %nu = updraft.scalar "nu" over group stored f64
  updraft.initial() {
    %one = arith.constant 1.0 : f64
    updraft.yield %one, %one : f64, f64
  }
  updraft.validate() messages [] {
    updraft.yield
  }

  // CHECK-LABEL: func.func @R_prologue0(
  // CHECK-SAME:      %{{[a-z0-9_]+}}: !llvm.ptr, %[[FACTS:[a-z0-9_]+]]: !llvm.ptr, %{{[a-z0-9_]+}}: !llvm.ptr,
  // CHECK-SAME:      %[[SCALARS:[a-z0-9_]+]]: !llvm.ptr, %[[ROW:[a-z0-9_]+]]: !llvm.ptr, %[[NEXT:[a-z0-9_]+]]: !llvm.ptr)
  // CHECK:         %[[FLAG:.*]] = llvm.getelementptr inbounds %[[ROW]][0]
  // CHECK:         llvm.store %{{.*}}, %[[FLAG]]
  // CHECK:         llvm.getelementptr inbounds %[[SCALARS]][1]
  // CHECK:         llvm.getelementptr inbounds %[[FACTS]][2]
  // CHECK:         %[[PRODUCT:.*]] = arith.mulf
  // CHECK:         %[[SLOT1:.*]] = llvm.getelementptr inbounds %[[ROW]][1]
  // CHECK:         llvm.store %{{.*}}, %[[SLOT1]] {alignment = 4 : i64} : f32
  // CHECK:         %[[NU:.*]] = llvm.getelementptr inbounds %[[NEXT]][1]
  // CHECK:         llvm.store %[[PRODUCT]], %[[NU]] {alignment = 8 : i64} : f64
  // CHECK-NOT:     llvm.store
  // CHECK:         return
  %a:2 = updraft.prologue(%nu, %n) : (f64, f64) -> (f32, f64) {
  ^bb0(%x: f64, %y: f64):
    %0 = arith.mulf %x, %y : f64
    %1 = arith.truncf %0 : f64 to f32
    updraft.yield %1, %0 : f32, f64
  }
  %r:2 = updraft.sweep reads(%g : !updraft.stream<f32>)
      reduces [#updraft.reduction<sum over tensor>, #updraft.reduction<max over tensor>]
      -> f64, f64 {
  ^bb0(%x: f32):
    %w = arith.extf %x : f32 to f64
    updraft.store reduce(%w, %w)
  }

  // CHECK-LABEL: func.func @R_prologue1(
  // CHECK-SAME:      %{{[a-z0-9_]+}}: !llvm.ptr, %{{[a-z0-9_]+}}: !llvm.ptr, %[[REDUCED:[a-z0-9_]+]]: !llvm.ptr,
  // CHECK-SAME:      %{{[a-z0-9_]+}}: !llvm.ptr, %[[ROW:[a-z0-9_]+]]: !llvm.ptr, %[[NEXT:[a-z0-9_]+]]: !llvm.ptr)
  // CHECK:         %[[MAX_AT:.*]] = llvm.getelementptr inbounds %[[REDUCED]][1]
  // CHECK:         %[[MAX:.*]] = llvm.load %[[MAX_AT]]
  // CHECK:         %[[BAD:.*]] = arith.cmpf uno, %[[MAX]], %[[MAX]] : f64
  // CHECK:         arith.truncf
  //
  // Rounded to f32, like the stored value.
  // CHECK:         %[[NARROW:.*]] = arith.truncf %[[MAX]] : f64 to f32
  // CHECK:         %[[ROUNDED:.*]] = arith.extf %[[NARROW]] : f32 to f64
  // CHECK:         %[[MU:.*]] = llvm.getelementptr inbounds %[[NEXT]][0]
  // CHECK:         llvm.store %[[ROUNDED]], %[[MU]]
  // CHECK:         %[[SKIP:.*]] = arith.uitofp %[[BAD]] : i1 to f32
  // CHECK:         %[[FLAG:.*]] = llvm.getelementptr inbounds %[[ROW]][0]
  // CHECK:         llvm.store %[[SKIP]], %[[FLAG]]
  // CHECK:         %[[SLOT5:.*]] = llvm.getelementptr inbounds %[[ROW]][5]
  // CHECK:         llvm.store %{{.*}}, %[[SLOT5]]
  %b:3 = updraft.prologue(%r#1) : (f64) -> (f64, i1, f32) {
  ^bb0(%m: f64):
    %bad = arith.cmpf uno, %m, %m : f64
    %0 = arith.truncf %m : f64 to f32
    updraft.yield %m, %bad, %0 : f64, i1, f32
  }
  updraft.sweep scalars(%a#0, %b#2 : f32, f32) writes(%p : !updraft.stream<f32>) {
  ^bb0(%x: f32, %y: f32):
    %0 = arith.addf %x, %y : f32
    updraft.store %0 : f32
  }
  updraft.commit scalars(%b#0, %a#1) skip(%b#1)
}
