// RUN: updraft-opt %s -split-input-file -verify-diagnostics
// Constraints of chosen rows and columns, by their labels.

// apply_c2: the largest elements
updraft.rule @R compute f32 matrix chosen 5.0e-01 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.apply' op has a first operand of extent `element`, `largest` takes values over `row` or `column`}}
  %x = updraft.apply largest(%g) : (f32) -> f32
  updraft.next %p : f32
}

// -----

// apply_c2: gathered from a square matrix
updraft.rule @R compute f32 matrix chosen 5.0e-01 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %l = updraft.state "l" over rows_by_rows stored f32 initial %zero : f32
  %d = updraft.state "d" over row stored f32 initial %zero : f32
  // expected-error @+1 {{'updraft.apply' op has a first operand of extent `rows_by_rows`, `gather_rows` takes a matrix over `element`}}
  %x = updraft.apply gather_rows(%l, %d) : (f32, f32) -> f32
  updraft.next %p, %l, %d : f32, f32, f32
}

// -----

// apply_c2: chosen rows scattered to columns
updraft.rule @R compute f32 matrix chosen 5.0e-01 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %d = updraft.state "d" over row stored f32 initial %zero : f32
  %x = updraft.apply gather_rows(%g, %d) : (f32, f32) -> f32
  // expected-error @+1 {{'updraft.apply' op has a first operand of extent `chosen_by_columns`, `scatter_columns` takes a matrix over `rows_by_chosen`}}
  %y = updraft.apply scatter_columns(%x, %d) : (f32, f32) -> f32
  updraft.next %y, %d : f32, f32
}

// -----

// apply_c2: chosen rows, sorted
updraft.rule @R compute f32 matrix chosen 5.0e-01 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %d = updraft.state "d" over row stored f32 initial %zero : f32
  %x = updraft.apply gather_rows(%g, %d) : (f32, f32) -> f32
  // expected-error @+1 {{'updraft.apply' op has a first operand of extent `chosen_by_columns`, `sort_rows` takes a matrix over `element` or a square one}}
  %y = updraft.apply sort_rows(%x, %d) : (f32, f32) -> f32
  updraft.next %p, %d : f32, f32
}

// -----

// apply_c4: rows chosen by values of columns
updraft.rule @R compute f32 matrix chosen 5.0e-01 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %d = updraft.state "d" over column stored f32 initial %zero : f32
  // expected-error @+1 {{'updraft.apply' op gathers a matrix over `element` by values over `column`, they must be over `row`}}
  %x = updraft.apply gather_rows(%g, %d) : (f32, f32) -> f32
  updraft.next %p, %d : f32, f32
}

// -----

// apply_c4: columns put back by values of rows
updraft.rule @R compute f32 matrix chosen 5.0e-01 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %d = updraft.state "d" over row stored f32 initial %zero : f32
  %e = updraft.state "e" over column stored f32 initial %zero : f32
  %x = updraft.apply gather_columns(%g, %e) : (f32, f32) -> f32
  // expected-error @+1 {{'updraft.apply' op scatters a matrix over `rows_by_chosen` by values over `row`, they must be over `column`}}
  %y = updraft.apply scatter_columns(%x, %d) : (f32, f32) -> f32
  updraft.next %y, %d, %e : f32, f32, f32
}

// -----

// rule_c6: chosen rows and all rows
updraft.rule @R compute f32 matrix chosen 5.0e-01 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %d = updraft.state "d" over row stored f32 initial %zero : f32
  %x = updraft.apply gather_rows(%g, %d) : (f32, f32) -> f32
  // expected-error @+1 {{'arith.addf' op has operands of extents `chosen_by_columns`, `element`, must have matrices of one shape}}
  %y = arith.addf %x, %g : f32
  updraft.next %p, %d : f32, f32
}

// -----

// rule_c8: no fraction
updraft.rule @R compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %d = updraft.state "d" over row stored f32 initial %zero : f32
  // expected-error @+1 {{'updraft.apply' op is in a rule without `chosen`}}
  %x = updraft.apply largest(%d) : (f32) -> f32
  updraft.next %p, %x : f32, f32
}

// -----

// rule_c8: a fraction that is too large
// expected-error @+1 {{'updraft.rule' op has the fraction 1.500000e+00 as `chosen`, must be greater than 0 and at most 1}}
updraft.rule @R compute f32 matrix chosen 1.5e+00 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %p : f32
}

// -----

// rule_c8: a rule for vectors
// expected-error @+1 {{'updraft.rule' op has `chosen`, which only one with `matrix` has}}
updraft.rule @R compute f32 chosen 5.0e-01 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %p : f32
}

// -----

// state_c2: a state of chosen rows
updraft.rule @R compute f32 matrix chosen 5.0e-01 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.state' op is over `chosen_by_columns`, must be over `group`, `tensor`, `row`, `column`, `element`, `rows_by_rows` or `columns_by_columns`}}
  %d = updraft.state "d" over chosen_by_columns stored f32 initial %zero : f32
  updraft.next %p, %d : f32, f32
}

// -----

// identity_c1: of chosen rows
updraft.rule @R compute f32 matrix chosen 5.0e-01 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.identity' op is over `chosen_by_chosen`, must be over `rows_by_rows` or `columns_by_columns`}}
  %i = updraft.identity over chosen_by_chosen : f32
  updraft.next %p : f32
}

// -----

// reduce_c3: a transpose of chosen rows
updraft.rule @R compute f32 matrix chosen 5.0e-01 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %d = updraft.state "d" over row stored f32 initial %zero : f32
  %x = updraft.apply gather_rows(%g, %d) : (f32, f32) -> f32
  %t = updraft.transpose %x : f32
  // expected-error @+1 {{'updraft.reduce' op has an operand of extent `columns_by_chosen`, must be over elements, rows, columns or batches, or a square matrix or one of chosen rows or columns}}
  %n = updraft.reduce sum %t over tensor : f32
  updraft.next %p, %d : f32, f32
}

// -----

// plan_c4: a stream of chosen rows
updraft.plan @P compute f32 matrix chosen 5.0e-01 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  // expected-error @+1 {{'updraft.stream' op is over `rows_by_chosen`, must be over `element`, `row`, `column`, `rows_by_rows` or `columns_by_columns`}}
  %d = updraft.stream "d" : !updraft.stream<f32, rows_by_chosen>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] { updraft.yield }
}

// -----

// plan_c5: a call
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %d = updraft.stream "d" : !updraft.stream<f32, row>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.call' op is in a plan without `chosen`}}
  %x = updraft.call largest(%d) : (!updraft.stream<f32, row>) -> !updraft.stream<f32, row>
}

// -----

// plan_c5: a sweep
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.sweep' op runs over `chosen_by_chosen` in a plan without `chosen`}}
  %x = updraft.sweep over chosen_by_chosen -> !updraft.stream<f32, chosen_by_chosen> {
    %one = arith.constant 1.0 : f32
    updraft.store make(%one : f32)
  }
}

// -----

// plan_c5: a fraction of 0
// expected-error @+1 {{'updraft.plan' op has the fraction 0.000000e+00 as `chosen`, must be greater than 0 and at most 1}}
updraft.plan @P compute f32 matrix chosen 0.0e+00 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
}
