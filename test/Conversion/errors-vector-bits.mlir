// RUN: updraft-opt %s --convert-updraft-plan-to-loops="vector-bits=192" --verify-diagnostics

// expected-error @+1 {{'updraft.plan' op cannot be lowered to vectors of 192 bits, must be a power of two from 64 to 2048}}
updraft.plan @R compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%g : !updraft.stream<f32>) writes(%p : !updraft.stream<f32>) {
  ^bb0(%x: f32):
    updraft.store %x : f32
  }
}
