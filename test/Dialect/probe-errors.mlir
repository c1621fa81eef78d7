// RUN: updraft-opt %s -split-input-file -verify-diagnostics
// Each constraint of probes, by its label.

// probe_c1
updraft.rule @R compute f64 {
  %p = updraft.param stored f64 : f64
  %g = updraft.grad stored f64 : f64
  // expected-error @+1 {{'updraft.probe' op has a value of extent `element`, must have at most the extent `tensor`}}
  updraft.probe "gradient" = %g
  updraft.next %p : f64
}

// -----

// probe_c2
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = updraft.size over tensor
  updraft.probe "size" = %n
  // expected-error @+1 {{'updraft.probe' op has the name "size" of another probe}}
  updraft.probe "size" = %n
  updraft.next %p : f32
}

// -----

// probe_c2: in a plan
updraft.plan @P compute f32 {
  %n = updraft.size over tensor
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k:2 = updraft.prologue(%n) : (f64) -> (f64, f64) {
  ^bb0(%x: f64):
    updraft.yield %x, %x : f64, f64
  }
  updraft.probe "size" = %k#0
  // expected-error @+1 {{'updraft.probe' op has the name "size" of another probe}}
  updraft.probe "size" = %k#1
}

// -----

// probe_c3
updraft.plan @P compute f32 {
  // expected-note @+1 {{it is defined here}}
  %n = updraft.size over tensor
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.probe' op has an operand that is not its own result of `updraft.prologue`}}
  updraft.probe "size" = %n
}

// -----

// probe_c4: an end that doesn't ascend
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = updraft.size over tensor
  updraft.probe "sizes" end 1.0 = %n
  // expected-error @+1 {{'updraft.probe' op has the end 1.000000e+00 after 1.000000e+00, must be greater}}
  updraft.probe "sizes" end 1.0 = %n
  updraft.next %p : f32
}

// -----

// probe_c4: one count
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = updraft.size over tensor
  // expected-error @+1 {{'updraft.probe' op has the end INF, must be a number, and infinity only after other counts}}
  updraft.probe "sizes" end 0x7FF0000000000000 = %n
  updraft.next %p : f32
}

// -----

// probe_c4: another probe in between
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = updraft.size over tensor
  // expected-error @+1 {{'updraft.probe' op is the last count of the histogram "sizes", so its end must be infinity}}
  updraft.probe "sizes" end 1.0 = %n
  updraft.probe "size" = %n
  updraft.next %p : f32
}

// -----

// probe_c4: no last count
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = updraft.size over tensor
  // expected-error @+1 {{'updraft.probe' op is the last count of the histogram "sizes", so its end must be infinity}}
  updraft.probe "sizes" end 1.0 = %n
  updraft.next %p : f32
}

// -----

// probe_c2: two histograms
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = updraft.size over tensor
  updraft.probe "sizes" end 1.0 = %n
  updraft.probe "sizes" end 0x7FF0000000000000 = %n
  // expected-error @+1 {{'updraft.probe' op has the name "sizes" of another probe}}
  updraft.probe "sizes" end 1.0 = %n
  updraft.probe "sizes" end 0x7FF0000000000000 = %n
  updraft.next %p : f32
}

// -----

// variants_c5
updraft.variants vectors {
  updraft.rule @R compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    %n = updraft.size over tensor
    updraft.probe "size" = %n
    updraft.next %p : f32
  }
} matrices {
  // expected-error @+1 {{'updraft.rule' op has the probe "" where `vectors` has "size"}}
  updraft.rule @R_matrix compute f32 matrix {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %p : f32
  }
}
