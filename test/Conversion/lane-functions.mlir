// A function in the module with the same name as one of ours isn't used instead.
// RUN: updraft-opt %s --convert-updraft-plan-to-loops="vector-bits=256" | FileCheck %s

// CHECK:       func.func private @updraft.take.sum_(%{{.*}}: !updraft.elements<f64>, %{{.*}}: i1) -> f64
// CHECK:       func.func private @updraft.take.sum(!llvm.ptr, i64)
func.func private @updraft.take.sum(!llvm.ptr, i64)

updraft.plan @R compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %r = updraft.sweep reads(%g : !updraft.stream<f32>)
      reduces [#updraft.reduction<sum over tensor>] -> f64 {
  ^bb0(%x: f32):
    %w = arith.extf %x : f32 to f64
    updraft.store reduce(%w)
  }
}

// CHECK-LABEL: func.func @R_sweep0(
// CHECK:         call @updraft.take.sum_(
