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

// -----

// A rule is oriented first. Otherwise, arithmetic would need the transpose in memory.
updraft.rule @Transposed compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.transpose' op is used outside of products, which can't be scheduled; turn the rule with `updraft-orient-products`}}
  %t = updraft.transpose %g : f32
  %a = arith.addf %t, %t : f32
  %y = updraft.product %g, %a : f32
  %z = updraft.product %y, %g : f32
  updraft.next %z : f32
}

// -----

updraft.rule @TransposedProduct compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %t = updraft.transpose %g : f32
  %gram = updraft.product symmetric %g, %t : f32
  // expected-error @+1 {{'updraft.product' op has a transposed matrix as result, which can't be scheduled; turn the rule with `updraft-orient-products`}}
  %y = updraft.product %t, %gram : f32
  %u = updraft.transpose %y : f32
  %z = updraft.product %gram, %g : f32
  %w = updraft.product %gram, %z : f32
  updraft.next %w : f32
}
