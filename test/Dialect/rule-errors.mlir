// RUN: updraft-opt %s -split-input-file -verify-diagnostics
// Each constraint of a rule, by its label. What a type says is at the end.

// rule_c1
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'arith.extf' op has a result of type 'f64', but element arithmetic must be in the compute type 'f32' or i1}}
  %w = arith.extf %g : f32 to f64
  updraft.next %p : f32
}

// -----

// rule_c1: an operand
updraft.rule @R compute f32 {
  // expected-error @+1 {{'updraft.param' op has a result of type 'f64', but element arithmetic must be in the compute type 'f32' or i1}}
  %p = updraft.param stored f32 : f64
  %g = updraft.grad stored f32 : f32
  updraft.next %g : f32
}

// -----

// rule_c1: a scalar that could not cross
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %t = updraft.step
  %n = arith.fptosi %t : f64 to i64
  // expected-error @+1 {{'math.fpowi' op has an operand of type 'i64', but element arithmetic must be in the compute type 'f32' or i1}}
  %x = math.fpowi %p, %n : f32, i64
  updraft.next %x : f32
}

// -----

// rule_c1: a state
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %zero = arith.constant 0.0 : f64
  // expected-error @+1 {{'updraft.state' op has a result of type 'f64', must have the compute type 'f32'}}
  %m = updraft.state "m" stored f32 initial %zero : f64
  updraft.next %p, %m : f32, f64
}

// -----

// rule_c2
// expected-error @+1 {{'updraft.rule' op has 2 `updraft.param`, must have exactly one}}
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %q = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %p : f32
}

// -----

// rule_c2: the gradient
// expected-error @+1 {{'updraft.rule' op has 0 `updraft.grad`, must have exactly one}}
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  updraft.next %p : f32
}

// -----

// rule_c3
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'vector.broadcast' op cannot be in `updraft.rule`, must be from `arith` or `math` or `updraft`}}
  %v = vector.broadcast %g : f32 to vector<4xf32>
  updraft.next %p : f32
}

// -----

// rule_c3: the terminator
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'llvm.unreachable' op cannot be in `updraft.rule`, must be from `updraft`}}
  llvm.unreachable
}

// -----

// rule_c4
updraft.rule @R compute f32 {
  %a = updraft.hyper "lr" = 1.0
  // expected-error @+1 {{'updraft.hyper' op has the name "lr" of another hyperparameter}}
  %b = updraft.hyper "lr" = 2.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %p : f32
}

// -----

// rule_c4: states
updraft.rule @R compute f32 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  // expected-error @+1 {{'updraft.state' op has the name "m" of another state}}
  %n = updraft.state "m" stored f32 initial %zero : f32
  updraft.next %p, %m, %n : f32, f32, f32
}

// -----

// rule_c4: reserved names
updraft.rule @R compute f32 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.state' op has the name "grad", which is reserved for the parameter and its gradient}}
  %m = updraft.state "grad" stored f32 initial %zero : f32
  updraft.next %p, %m : f32, f32
}

// -----

// state_c1
updraft.rule @R compute f32 {
  %t = updraft.step
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.state' op initial value has the extent `tensor`, must depend on hyperparameters alone}}
  %m = updraft.state "m" stored f32 initial %t : f32
  updraft.next %p, %m : f32, f32
}

// -----

// require_c1
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %c = arith.cmpf oge, %p, %g : f32
  // expected-error @+1 {{'updraft.require' op condition has the extent `element`, must depend on hyperparameters alone}}
  updraft.require %c, "no"
  updraft.next %p : f32
}

// -----

// require_c2
updraft.rule @R compute f32 {
  %lr = updraft.hyper "lr" = 1.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %c = arith.cmpf oge, %lr, %lr : f64
  // expected-error @+1 {{'updraft.require' op message "{{literally}}: {lrx}" names `lrx`, which must be a hyperparameter}}
  updraft.require %c, "{{literally}}: {lrx}"
  updraft.next %p : f32
}

// -----

// require_c2: pairs
updraft.rule @R compute f32 {
  %lr = updraft.hyper "lr" = 1.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %c = arith.cmpf oge, %lr, %lr : f64
  // expected-error @+1 {{'updraft.require' op message "{lr} {lr" has an unpaired `{`; a brace itself is written twice}}
  updraft.require %c, "{lr} {lr"
  updraft.next %p : f32
}

// -----

// next_c1
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.next' op has 1 operands for states, must have 0, one per `updraft.state`}}
  updraft.next %p, %g : f32, f32
}

// -----

// next_c2
updraft.rule @R compute f32 {
  %lr = updraft.hyper "lr" = 1.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.next' op has an operand of type 'f64', must have the compute type 'f32'}}
  updraft.next %lr : f64
}

// -----

// expected-error @+1 {{attribute 'compute' failed to satisfy constraint: type attribute of compute type: f32 or f64}}
updraft.rule @R compute bf16 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %p : f32
}

// -----

updraft.rule @R compute f32 {
  // expected-error @+1 {{attribute 'storage' failed to satisfy constraint: type attribute of storage type: f32, f64, bf16 or f16}}
  %p = updraft.param stored i8 : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %p : f32
}

// -----

// expected-error @+1 {{'updraft.param' op expects parent op 'updraft.rule'}}
%p = updraft.param stored f32 : f32
