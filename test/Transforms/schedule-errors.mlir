// RUN: updraft-opt %s -updraft-schedule -split-input-file -verify-diagnostics
// Rules that can't be scheduled.

// Whether the tensor takes part in the reduction would depend on the sweeps.
updraft.rule @SkippedBeforeTheGroup compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %step = updraft.step
  %two = arith.constant 2.0 : f64
  %skip = arith.cmpf ogt, %step, %two : f64
  %wide = arith.extf %g : f32 to f64
  // expected-note@+1 {{the reduction}}
  %sum = updraft.reduce sum %wide over group : f64
  %k = arith.truncf %sum : f64 to f32
  %n = arith.mulf %p, %k : f32
  // expected-error@+1 {{'updraft.next' op has a condition of `skip` for one tensor that is known before a reduction over the group, which all tensors take part in}}
  updraft.next %n skip(%skip) : f32
}

// -----

// It is known after the reduction: all tensors take part, and then some are skipped.
updraft.rule @SkippedAfterTheGroup compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %two = arith.constant 2.0 : f64
  %wide = arith.extf %g : f32 to f64
  %own = updraft.reduce sum %wide over tensor : f64
  %skip = arith.cmpf ogt, %own, %two : f64
  %sum = updraft.reduce sum %wide over group : f64
  %k = arith.truncf %sum : f64 to f32
  %n = arith.mulf %p, %k : f32
  updraft.next %n skip(%skip) : f32
}

// -----

// Streams of a plan must have types that memory stores directly.
updraft.rule @Unexpanded compute f32 {
  // expected-error @+1 {{'updraft.param' op is stored as '!updraft.stochastic<bf16>', which is not a type in memory; expand it with `updraft-expand-storage`}}
  %p = updraft.param stored !updraft.stochastic<bf16> : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %g : f32
}
