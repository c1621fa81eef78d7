// RUN: updraft-opt %s -split-input-file -verify-diagnostics
// Constraints of plans with several sweeps, by their labels.

// streamtype_c2
updraft.plan @P compute f32 {
  // expected-error @+1 {{is over `tensor`, must be over `element`, `row`, `column`, `batch`, `rows_by_rows`, `columns_by_columns`, `chosen_by_columns`, `rows_by_chosen` or `chosen_by_chosen`}}
  %p = updraft.stream "param" : !updraft.stream<f32, tensor>
}

// -----

// streamtype_c3
updraft.plan @P compute f32 {
  // expected-error @+1 {{is stored as '!updraft.blocked<linear>' over `row`, must be over `element`}}
  %p = updraft.stream "param" : !updraft.stream<!updraft.blocked<linear>, row>
}

// -----

// plan_c3: at most one
// expected-error @+1 {{'updraft.plan' op has 2 `updraft.commit`, must have at most one}}
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  updraft.commit
  updraft.commit
}

// -----

// plan_c4
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  // expected-error @+1 {{'updraft.stream' op is over `row`, which only a plan with `matrix` has}}
  %r = updraft.stream "r" : !updraft.stream<f32, row>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] { updraft.yield }
}

// -----

// prologue_c3
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-note @+1 {{it is defined here}}
  %a = updraft.prologue() : () -> f64 {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  // expected-error @+1 {{'updraft.prologue' op has operand 0 that is neither an input of the rule nor a reduction of a sweep}}
  %b = updraft.prologue(%a) : (f64) -> f64 {
  ^bb0(%x: f64):
    updraft.yield %x : f64
  }
}

// -----

// scalar_c1
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.scalar' op is over `row`, must be over `tensor` or `group`}}
  %r = updraft.scalar "r" over row stored f32
}

// -----

// commit_c1
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %m = updraft.scalar "m" over tensor stored f32
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.commit' op has 0 scalars, must have 1, one per `updraft.scalar`}}
  updraft.commit
}

// -----

// commit_c2
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  // expected-note @+1 {{it is defined here}}
  %m = updraft.scalar "m" over tensor stored f32
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.commit' op has an operand that is not its own result of `updraft.prologue`}}
  updraft.commit scalars(%m)
}

// -----

// commit_c3
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  updraft.sweep reads(%g : !updraft.stream<f32>) writes(%p : !updraft.stream<f32>) {
  ^bb0(%x: f32):
    updraft.store %x : f32
  }
  %skip = updraft.prologue() : () -> i1 {
    %true = arith.constant true
    updraft.yield %true : i1
  }
  // expected-error @+1 {{'updraft.commit' op has a condition of `skip` that comes after a sweep that writes}}
  updraft.commit skip(%skip)
}

// -----

// sweep_c2: reductions
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %n = updraft.sweep reads(%g : !updraft.stream<f32>) reduces [#updraft.reduction<sum over tensor>] -> f64 {
  ^bb0(%x: f32):
    // expected-error @+1 {{'updraft.store' op reduces 0 values, must reduce one for each of 1 reductions}}
    updraft.store
  }
}

// -----

// sweep_c2: temporaries
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %r = updraft.sweep over row -> !updraft.stream<f32, row> {
    // expected-error @+1 {{'updraft.store' op makes (), must make ('f32'), one per temporary}}
    updraft.store
  }
}

// -----

// sweep_c4: a type
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  updraft.sweep reads(%g : !updraft.stream<f32>) {
  ^bb0(%x: f32):
    %i = arith.fptosi %x : f32 to i32
    // expected-error @+1 {{'arith.index_cast' op has a result of type 'index', element arithmetic must be on floats and integers}}
    %j = arith.index_cast %i : i32 to index
    updraft.store
  }
}

// -----

// sweep_c4: random bits are those of an element
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  updraft.sweep over row {
    // expected-error @+1 {{'updraft.random' op cannot be in `updraft.sweep`, must be from `arith` or `math`}}
    %b = updraft.random 0
    updraft.store
  }
}

// -----

// sweep_c6: reads
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.sweep' op reads a stream over `element`, but runs over `row`}}
  updraft.sweep over row reads(%g : !updraft.stream<f32>) {
  ^bb0(%x: f32):
    updraft.store
  }
}

// -----

// sweep_c6: writes
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.sweep' op writes a stream over `element`, but runs over `column`}}
  updraft.sweep over column writes(%p : !updraft.stream<f32>) {
    %zero = arith.constant 0.0 : f32
    updraft.store %zero : f32
  }
}

// -----

// sweep_c7: too few
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.sweep' op has 0 results, must have one for each of its 1 reductions}}
  updraft.sweep reduces [#updraft.reduction<sum over tensor>] {
    %zero = arith.constant 0.0 : f64
    updraft.store reduce(%zero)
  }
}

// -----

// sweep_c7: extent
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.sweep' op over `row` cannot reduce over `column`}}
  %n = updraft.sweep over row reduces [#updraft.reduction<sum over column>] -> !updraft.stream<f64, column> {
    %zero = arith.constant 0.0 : f64
    updraft.store reduce(%zero)
  }
}

// -----

// sweep_c7: type
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.sweep' op has result #0 of type 'f64', must be '!updraft.stream<f64, row>'}}
  %n = updraft.sweep reduces [#updraft.reduction<max over row>] -> f64 {
    %zero = arith.constant 0.0 : f64
    updraft.store reduce(%zero)
  }
}

// -----

// sweep_c7: temporary
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.sweep' op makes a temporary of type 'f64', must be a stream over `element`, as the sweep}}
  %n = updraft.sweep -> f64 {
    updraft.store
  }
}

// -----

// plan_c4: batch
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  // expected-error @+1 {{'updraft.stream' op is over `batch`, must be over `element`, `row`, `column`, `rows_by_rows` or `columns_by_columns`}}
  %b = updraft.stream "b" : !updraft.stream<f32, batch>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] { updraft.yield }
}

// -----

// sweep_c8: elements
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.sweep' op over `element` cannot reduce over `batch`; elements are reduced over `row` first}}
  %n = updraft.sweep reduces [#updraft.reduction<max over batch>] -> !updraft.stream<f64, batch> {
    %zero = arith.constant 0.0 : f64
    updraft.store reduce(%zero)
  }
}

// -----

// sweep_c8: rows
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.sweep' op uses values over `batch`, and cannot reduce over `tensor` too}}
  %n:2 = updraft.sweep over row
      reduces [#updraft.reduction<sum over batch>, #updraft.reduction<sum over tensor>]
      -> !updraft.stream<f64, batch>, f64 {
    %zero = arith.constant 0.0 : f64
    updraft.store reduce(%zero, %zero)
  }
}

// -----

// sweep_c9: reduces over them
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.sweep' op has values over rows, columns or batches, which only a plan with `matrix` has}}
  %n = updraft.sweep reduces [#updraft.reduction<max over column>] -> !updraft.stream<f64, column> {
    %zero = arith.constant 0.0 : f64
    updraft.store reduce(%zero)
  }
}

// -----

// sweep_c9: runs over them
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.sweep' op has values over rows, columns or batches, which only a plan with `matrix` has}}
  %n = updraft.sweep over row reduces [#updraft.reduction<sum over tensor>] -> f64 {
    %zero = arith.constant 0.0 : f64
    updraft.store reduce(%zero)
  }
}

// -----

// sweep_c7: temporary of another shape
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.sweep' op makes a temporary of type '!updraft.stream<f32, rows_by_rows>', must be a stream over `element`, as the sweep}}
  %n = updraft.sweep -> !updraft.stream<f32, rows_by_rows> {
    %zero = arith.constant 0.0 : f32
    updraft.store make(%zero : f32)
  }
}

// -----

// sweep_c8: a square matrix
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %gram = updraft.multiply %p, %p transposed
      : !updraft.stream<f32>, !updraft.stream<f32> -> !updraft.stream<f32, rows_by_rows>
  // expected-error @+1 {{'updraft.sweep' op over `rows_by_rows` cannot reduce over `batch`; elements are reduced over `row` first}}
  %n = updraft.sweep over rows_by_rows reduces [#updraft.reduction<max over batch>]
      -> !updraft.stream<f64, batch> {
    %zero = arith.constant 0.0 : f64
    updraft.store reduce(%zero)
  }
}

// -----

// multiply_c1: another type
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.multiply' op has a stream of type '!updraft.stream<bf16>', must be a matrix of 'f32'}}
  %x = updraft.multiply %p, %g transposed
      : !updraft.stream<f32>, !updraft.stream<bf16> -> !updraft.stream<f32, rows_by_rows>
}

// -----

// multiply_c1: rows
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %r = updraft.sweep over row -> !updraft.stream<f32, row> {
    %zero = arith.constant 0.0 : f32
    updraft.store make(%zero : f32)
  }
  // expected-error @+1 {{'updraft.multiply' op has a stream of type '!updraft.stream<f32, row>', must be a matrix of 'f32'}}
  %x = updraft.multiply %r, %p
      : !updraft.stream<f32, row>, !updraft.stream<f32> -> !updraft.stream<f32>
}

// -----

// multiply_c2: operands
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.multiply' op multiplies `element` by `element`, which has no product over `rows_by_rows`}}
  %x = updraft.multiply %p, %p
      : !updraft.stream<f32>, !updraft.stream<f32> -> !updraft.stream<f32, rows_by_rows>
}

// -----

// multiply_c2: a transposed operand
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %gram = updraft.multiply %p, %p transposed
      : !updraft.stream<f32>, !updraft.stream<f32> -> !updraft.stream<f32, rows_by_rows>
  // expected-error @+1 {{'updraft.multiply' op multiplies `rows_by_rows` by `transposed`, which has no product over `element`}}
  %x = updraft.multiply %gram, %p transposed
      : !updraft.stream<f32, rows_by_rows>, !updraft.stream<f32> -> !updraft.stream<f32>
}

// -----

// multiply_c2: result
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.multiply' op multiplies `transposed` by `element`, which has no product over `rows_by_rows`}}
  %x = updraft.multiply %p transposed, %p
      : !updraft.stream<f32>, !updraft.stream<f32> -> !updraft.stream<f32, rows_by_rows>
}

// -----

// multiply_c3
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %gram = updraft.multiply %p, %p transposed
      : !updraft.stream<f32>, !updraft.stream<f32> -> !updraft.stream<f32, rows_by_rows>
  // expected-error @+1 {{'updraft.multiply' op is `symmetric`, but its result is over `element`, must be square}}
  %x = updraft.multiply symmetric %gram, %p
      : !updraft.stream<f32, rows_by_rows>, !updraft.stream<f32> -> !updraft.stream<f32>
}

// -----

// multiply_c5
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.multiply' op is `bf16`, which needs a `fast` plan that computes f32}}
  %gram = updraft.multiply bf16 %p, %p transposed
      : !updraft.stream<f32>, !updraft.stream<f32> -> !updraft.stream<f32, rows_by_rows>
}

// -----

// multiply_c5: f64
updraft.plan @P compute f64 matrix fast {
  %p = updraft.stream "param" : !updraft.stream<f64>
  %g = updraft.stream "grad" : !updraft.stream<f64>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.multiply' op is `f16`, which needs a `fast` plan that computes f32}}
  %gram = updraft.multiply f16 %p, %p transposed
      : !updraft.stream<f64>, !updraft.stream<f64> -> !updraft.stream<f64, rows_by_rows>
}

// -----

// streamtype_c2: a transposed matrix
updraft.plan @P compute f32 matrix {
  // expected-error @+1 {{is over `transposed`, must be over `element`, `row`, `column`, `batch`, `rows_by_rows`, `columns_by_columns`, `chosen_by_columns`, `rows_by_chosen` or `chosen_by_chosen`}}
  %p = updraft.stream "param" : !updraft.stream<f32, transposed>
}

// -----

// plan_c4: a square matrix of a vector
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  // expected-error @+1 {{'updraft.stream' op is over `rows_by_rows`, which only a plan with `matrix` has}}
  %m = updraft.stream "m" : !updraft.stream<f32, rows_by_rows>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] { updraft.yield }
}

// -----

// sweep_c4: an identity of other matrices
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  updraft.sweep over rows_by_rows {
    // expected-error @+1 {{'updraft.identity' op is over `columns_by_columns`, but its sweep is over `rows_by_rows`}}
    %i = updraft.identity over columns_by_columns : f32
    updraft.store
  }
}

// -----

// plan_c4: shapes
// expected-error @+1 {{'updraft.plan' op has `shapes`, which only a plan with `matrix` has}}
updraft.plan @P compute f32 shapes tall {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
}

// -----

// sweep_c6: a transposed matrix
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.sweep' op runs over `transposed`, which no stream is over}}
  updraft.sweep over transposed {
    updraft.store
  }
}

// -----

// multiply_c1: a plan for vectors
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.multiply' op is in a plan without `matrix`}}
  %x = updraft.multiply %p, %p transposed
      : !updraft.stream<f32>, !updraft.stream<f32> -> !updraft.stream<f32, rows_by_rows>
}

// -----

// multiply_c6: a scale without an addend
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k = updraft.prologue() : () -> f32 {
    %one = arith.constant 1.0 : f32
    updraft.yield %one : f32
  }
  // expected-error @+1 {{'updraft.multiply' op has a scale, but no addend}}
  %x = updraft.multiply %p, %g transposed scale(%k) : <f32>, <f32> -> <f32, rows_by_rows>
}

// -----

// multiply_c6: a scale from elsewhere
updraft.plan @P compute f64 matrix {
  %lr = updraft.hyper "lr" = 1.0
  // expected-note @-1 {{it is defined here}}
  %p = updraft.stream "param" : !updraft.stream<f64>
  %g = updraft.stream "grad" : !updraft.stream<f64>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %gram = updraft.multiply %p, %g transposed : <f64>, <f64> -> <f64, rows_by_rows>
  // expected-error @+1 {{'updraft.multiply' op has a scale that is not a result of `updraft.prologue`}}
  %x = updraft.multiply %gram, %g addend(%p) addend_scale(%lr) : <f64, rows_by_rows>, <f64> -> <f64>
}

// -----

// multiply_c7
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %a = updraft.multiply %p, %g transposed : <f32>, <f32> -> <f32, rows_by_rows>
  // expected-note @-1 {{it is defined here}}
  // expected-error @+1 {{'updraft.multiply' op is `symmetric`, but its addend may not be symmetric}}
  %x = updraft.multiply symmetric %p, %p transposed addend(%a) : <f32>, <f32> -> <f32, rows_by_rows>
}

// -----

// multiply_c7: a sweep over values per row
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %a = updraft.multiply symmetric %p, %p transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %r = updraft.sweep over rows_by_rows reads(%a : !updraft.stream<f32, rows_by_rows>)
      reduces [#updraft.reduction<max over row>] -> !updraft.stream<f64, row> {
  ^bb0(%e: f32):
    %0 = arith.extf %e : f32 to f64
    updraft.store reduce(%0)
  }
  // expected-note @+1 {{it is defined here}}
  %b = updraft.sweep over rows_by_rows reads(%a, %r : !updraft.stream<f32, rows_by_rows>, !updraft.stream<f64, row>)
      -> !updraft.stream<f32, rows_by_rows> {
  ^bb0(%e: f32, %v: f64):
    %0 = arith.truncf %v : f64 to f32
    %1 = arith.addf %e, %0 : f32
    updraft.store make(%1 : f32)
  }
  // expected-error @+1 {{'updraft.multiply' op is `symmetric`, but its addend may not be symmetric}}
  %x = updraft.multiply symmetric %a, %a addend(%b) : <f32, rows_by_rows>, <f32, rows_by_rows> -> <f32, rows_by_rows>
}

// -----

// The addend has the result's type.
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-note @-3 {{prior use here}}
  // expected-error @+1 {{expects different type than prior uses}}
  %x = updraft.multiply %p, %g transposed addend(%g) : <f32>, <f32> -> <f32, rows_by_rows>
}

// -----

// multiply_c6: scales of a target
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %k = updraft.prologue() : () -> f32 {
    %0 = arith.constant 2.0 : f32
    updraft.yield %0 : f32
  }
  %a = updraft.multiply %g, %g transposed : <f32>, <f32> -> <f32, rows_by_rows>
  // expected-error @+1 {{'updraft.multiply' op has a scale of the sum or of the target, but no target}}
  %x = updraft.multiply %a, %g sum_scale(%k) : <f32, rows_by_rows>, <f32> -> <f32>
}

// -----

// multiply_c8
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-note @-3 {{it is defined here}}
  %a = updraft.multiply %g, %g transposed : <f32>, <f32> -> <f32, rows_by_rows>
  // expected-error @+1 {{'updraft.multiply' op writes the gradient, must write the parameter and states alone}}
  %x = updraft.multiply %a, %p target(%g) : <f32, rows_by_rows>, <f32> -> <f32>
}

// -----

// multiply_c8
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %a = updraft.multiply %g, %g transposed : <f32>, <f32> -> <f32, rows_by_rows>
  // expected-note @+1 {{it is defined here}}
  %y = updraft.multiply %a, %g : <f32, rows_by_rows>, <f32> -> <f32>
  // expected-error @+1 {{'updraft.multiply' op writes a temporary, must write the parameter and states alone}}
  %x = updraft.multiply %a, %g target(%y) : <f32, rows_by_rows>, <f32> -> <f32>
}

// -----

// multiply_c8
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %a = updraft.multiply %g, %g transposed : <f32>, <f32> -> <f32, rows_by_rows>
  // expected-error @+1 {{'updraft.multiply' op has a target that it also reads as an operand or as its addend}}
  %x = updraft.multiply %a, %p target(%p) : <f32, rows_by_rows>, <f32> -> <f32>
}

// -----

// multiply_c8
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %a = updraft.multiply %g, %g transposed : <f32>, <f32> -> <f32, rows_by_rows>
  // expected-error @+1 {{'updraft.multiply' op has a target that it also reads as an operand or as its addend}}
  %x = updraft.multiply %a, %g addend(%p) target(%p) : <f32, rows_by_rows>, <f32> -> <f32>
}

// -----

// multiply_c8
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %s = updraft.stream "s" : <f32, rows_by_rows>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.multiply' op is `symmetric`, and has a target}}
  %x = updraft.multiply symmetric %g, %g transposed target(%s) : <f32>, <f32> -> <f32, rows_by_rows>
}

// -----

// multiply_c8
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %a = updraft.multiply %g, %g transposed : <f32>, <f32> -> <f32, rows_by_rows>
  // expected-error @+1 {{'updraft.multiply' op has a target, so nothing may use the result, which has partial sums}}
  %x = updraft.multiply %a, %g target(%p) : <f32, rows_by_rows>, <f32> -> <f32>
  // expected-note @+1 {{it is used here}}
  %y = updraft.multiply %a, %x : <f32, rows_by_rows>, <f32> -> <f32>
}

// -----

// commit_c3: a product
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %a = updraft.multiply %g, %g transposed : <f32>, <f32> -> <f32, rows_by_rows>
  %x = updraft.multiply %a, %g target(%p) : <f32, rows_by_rows>, <f32> -> <f32>
  %skip = updraft.prologue() : () -> i1 {
    %0 = arith.constant true
    updraft.yield %0 : i1
  }
  // expected-error @+1 {{'updraft.commit' op has a condition of `skip` that comes after a product that writes}}
  updraft.commit skip(%skip)
}
