// Operations that can't be lowered have an error at the operation.
// RUN: updraft-opt %s --convert-updraft-plan-to-loops --split-input-file --verify-diagnostics

updraft.plan @Exp compute f32 {
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
    // expected-error @+1 {{'math.sin' op has no vector instructions, and a sweep calls no library; expand it with `updraft-expand-math`}}
    %y = math.sin %x : f32
    updraft.store %y : f32
  }
}

// -----

updraft.plan @Remainder compute f32 {
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
    // expected-error @+1 {{'arith.remf' op has no vector instructions, and a sweep calls no library; expand it with `updraft-expand-math`}}
    %y = arith.remf %x, %x : f32
    updraft.store %y : f32
  }
}

// -----

updraft.plan @Row compute f32 {
  %lr = updraft.hyper "lr" = 1.000000e-03
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  // expected-error @+1 {{'updraft.prologue' op result #0 is 'f64', a row holds values of the compute type 'f32' and flags; convert it in the prologue}}
  %k = updraft.prologue(%lr) : (f64) -> f64 {
  ^bb0(%a: f64):
    updraft.yield %a : f64
  }
}
