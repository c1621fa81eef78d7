// RUN: updraft-opt %s -split-input-file -verify-diagnostics
// Each constraint of a plan and its parts, by its label.

// streamtype_c1
updraft.plan @P compute f32 {
  // expected-error @+1 {{storage type is 'i16', must be f32, f64, bf16, f16, i8 or !updraft.blocked}}
  %p = updraft.stream "param" : !updraft.stream<i16>
}

// -----

// plan_c1
updraft.plan @P compute f32 {
  // expected-error @+1 {{'arith.constant' op cannot be in a plan, must be in a host function or a sweep}}
  %zero = arith.constant 0.0 : f64
}

// -----

// plan_c2
// expected-error @+1 {{'updraft.plan' op has 2 streams, the first two must be "param" and "grad"}}
updraft.plan @P compute f32 {
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %p = updraft.stream "param" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
}

// -----

// plan_c2: unique
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  // expected-error @+1 {{'updraft.stream' op has the name "grad" of another stream}}
  %m = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] { updraft.yield }
}

// -----

// plan_c2: hyperparameters
updraft.plan @P compute f32 {
  %a = updraft.hyper "lr" = 1.0
  // expected-error @+1 {{'updraft.hyper' op has the name "lr" of another hyperparameter}}
  %b = updraft.hyper "lr" = 1.0
}

// -----

// plan_c3
// expected-error @+1 {{'updraft.plan' op has 0 `updraft.validate`, must have exactly one}}
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
}

// -----

// initial_c1
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %m = updraft.stream "m" : !updraft.stream<f32>
  updraft.initial() {
    // expected-error @+1 {{'updraft.yield' op yields (), must yield ('f64') in `updraft.initial`}}
    updraft.yield
  }
}

// -----

// initial_c1: arguments
updraft.plan @P compute f32 {
  %lr = updraft.hyper "lr" = 1.0
  // expected-error @+1 {{'updraft.initial' op has block arguments of types (), must match ('f64')}}
  updraft.initial(%lr) {
    updraft.yield
  }
}

// -----

// initial_c2
updraft.plan @P compute f32 {
  // expected-note @+1 {{it is defined here}}
  %t = updraft.step
  // expected-error @+1 {{'updraft.initial' op has operand 0 that is not a hyperparameter}}
  updraft.initial(%t) {
  ^bb0(%a: f64):
    updraft.yield
  }
}

// -----

// initial_c3
updraft.plan @P compute f32 {
  updraft.initial() {
    // expected-error @+1 {{'llvm.mlir.undef' op cannot be in `updraft.initial`, must be from `arith` or `math` or `scf`}}
    %0 = llvm.mlir.undef : f64
    updraft.yield %0 : f64
  }
}

// -----

// validate_c1
updraft.plan @P compute f32 {
  updraft.validate() messages ["no"] {
    %zero = arith.constant 0.0 : f64
    // expected-error @+1 {{'updraft.yield' op yields ('f64'), must yield ('i1') in `updraft.validate`}}
    updraft.yield %zero : f64
  }
}

// -----

// validate_c2
updraft.plan @P compute f32 {
  // expected-note @+1 {{it is defined here}}
  %t = updraft.step
  // expected-error @+1 {{'updraft.validate' op has operand 0 that is not a hyperparameter}}
  updraft.validate(%t) messages [] {
  ^bb0(%a: f64):
    updraft.yield
  }
}

// -----

// validate_c3
updraft.plan @P compute f32 {
  updraft.validate() messages [] {
    // expected-error @+1 {{'llvm.unreachable' op cannot be in `updraft.validate`, must be from `updraft`}}
    llvm.unreachable
  }
}

// -----

// sweep_c4
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.sweep reads(%p : !updraft.stream<f32>) writes(%p : !updraft.stream<f32>) {
  ^bb0(%x: f32):
    // expected-error @+1 {{'llvm.unreachable' op cannot end `updraft.sweep`, must be `updraft.store`}}
    llvm.unreachable
  }
}

// -----

// validate_c4
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  // expected-error @+1 {{'updraft.validate' op message "bad {lr}" names `lr`, which must be a hyperparameter}}
  updraft.validate() messages ["bad {lr}"] {
    %true = arith.constant true
    updraft.yield %true : i1
  }
}

// -----

// prologue_c1
updraft.plan @P compute f32 {
  %lr = updraft.hyper "lr" = 1.0
  %k = updraft.prologue(%lr) : (f64) -> f32 {
  ^bb0(%a: f64):
    // expected-error @+1 {{'updraft.yield' op yields ('f64'), must yield ('f32') in `updraft.prologue`}}
    updraft.yield %a : f64
  }
}

// -----

// prologue_c2: also in a nested region
updraft.plan @P compute f32 {
  updraft.prologue() : () -> () {
    %true = arith.constant true
    %0 = scf.if %true -> f64 {
      // expected-error @+1 {{'llvm.mlir.undef' op cannot be in `updraft.prologue`, must be from `arith` or `math` or `scf`}}
      %1 = llvm.mlir.undef : f64
      scf.yield %1 : f64
    } else {
      %2 = arith.constant 0.0 : f64
      scf.yield %2 : f64
    }
    updraft.yield
  }
}

// -----

// sweep_c1
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<bf16>
  // expected-error @+1 {{'updraft.sweep' op has block arguments of types ('bf16'), must match ('f32')}}
  updraft.sweep reads(%p : !updraft.stream<bf16>) {
  ^bb0(%pe: bf16):
    updraft.store
  }
}

// -----

// sweep_c2
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  updraft.sweep reads(%p : !updraft.stream<f32>) writes(%p : !updraft.stream<f32>) {
  ^bb0(%pe: f32):
    // expected-error @+1 {{'updraft.store' op stores (), must store ('f32'), one per stream written}}
    updraft.store
  }
}

// -----

// sweep_c3
updraft.plan @P compute f32 {
  // expected-note @+1 {{the stream is here}}
  %p = updraft.stream "param" : !updraft.stream<f32>
  // expected-error @+1 {{'updraft.sweep' op reads a stream twice, must do so once}}
  updraft.sweep reads(%p, %p : !updraft.stream<f32>, !updraft.stream<f32>) {
  ^bb0(%a: f32, %b: f32):
    updraft.store
  }
}

// -----

// sweep_c3: writes
updraft.plan @P compute f32 {
  // expected-note @+1 {{the stream is here}}
  %p = updraft.stream "param" : !updraft.stream<f32>
  // expected-error @+1 {{'updraft.sweep' op writes a stream twice, must do so once}}
  updraft.sweep writes(%p, %p : !updraft.stream<f32>, !updraft.stream<f32>) {
    %zero = arith.constant 0.0 : f32
    updraft.store %zero, %zero : f32, f32
  }
}

// -----

// sweep_c10
updraft.plan @P compute f32 {
  %first = updraft.first
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %f = updraft.prologue(%first) : (i1) -> i1 {
  ^bb0(%arg: i1):
    updraft.yield %arg : i1
  }
  // expected-error @+1 {{'updraft.sweep' op has a condition and reduces over the group, in which every tensor takes part}}
  %sum = updraft.sweep when(%f) reads(%g : !updraft.stream<f32>) reduces [#updraft.reduction<sum over group>] -> f64 {
  ^bb0(%e: f32):
    %wide = arith.extf %e : f32 to f64
    updraft.store reduce(%wide)
  }
}

// -----

// sweep_c11: the gradient
updraft.plan @P compute f32 {
  // expected-note @+1 {{it is defined here}}
  %g = updraft.stream "grad" : !updraft.stream<f32>
  // expected-error @+1 {{'updraft.sweep' op writes the gradient, must write the parameter and states alone}}
  updraft.sweep writes(%g : !updraft.stream<f32>) {
    %zero = arith.constant 0.0 : f32
    updraft.store %zero : f32
  }
}

// -----

// sweep_c11: a temporary
updraft.plan @P compute f32 matrix {
  %g = updraft.stream "grad" : !updraft.stream<f32>
  // expected-note @+1 {{it is defined here}}
  %t = updraft.multiply symmetric %g, %g transposed : <f32>, <f32> -> <f32, rows_by_rows>
  // expected-error @+1 {{'updraft.sweep' op writes a temporary, must write the parameter and states alone}}
  updraft.sweep over rows_by_rows writes(%t : !updraft.stream<f32, rows_by_rows>) {
    %zero = arith.constant 0.0 : f32
    updraft.store %zero : f32
  }
}

// -----

// sweep_c4
updraft.plan @P compute f32 {
  updraft.sweep {
    // expected-error @+1 {{'llvm.mlir.undef' op cannot be in `updraft.sweep`, must be from `arith` or `math`}}
    %0 = llvm.mlir.undef : f32
    updraft.store
  }
}

// -----

// sweep_c5
updraft.plan @P compute f64 {
  // expected-note @+1 {{it is defined here}}
  %lr = updraft.hyper "lr" = 1.0
  // expected-error @+1 {{'updraft.sweep' op has a scalar of type 'f64', must be a result of `updraft.prologue` of type 'f64' or i1}}
  updraft.sweep scalars(%lr : f64) {
  ^bb0(%a: f64):
    updraft.store
  }
}

// -----

// sweep_c5: the type
updraft.plan @P compute f32 {
  %lr = updraft.hyper "lr" = 1.0
  // expected-note @+1 {{it is defined here}}
  %k = updraft.prologue(%lr) : (f64) -> f64 {
  ^bb0(%a: f64):
    updraft.yield %a : f64
  }
  // expected-error @+1 {{'updraft.sweep' op has a scalar of type 'f64', must be a result of `updraft.prologue` of type 'f32' or i1}}
  updraft.sweep scalars(%k : f64) {
  ^bb0(%a: f64):
    updraft.store
  }
}
