// RUN: updraft-opt %s -split-input-file -verify-diagnostics
// Constraints of functions of matrices and of conditions, by their labels.

// apply_c1: too few operands
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.apply' op has 1 operands, `sort_rows` takes 2}}
  %x = updraft.apply sort_rows(%g) : (f32) -> f32
  updraft.next %p : f32
}

// -----

// apply_c1: too many operands
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %t = updraft.transpose %g : f32
  %gram = updraft.product %g, %t : f32
  // expected-error @+1 {{'updraft.apply' op has 2 operands, `qr` takes 1}}
  %x = updraft.apply qr(%gram, %gram) : (f32, f32) -> f32
  updraft.next %p : f32
}

// -----

// apply_c1: another type
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = updraft.reduce sum %g over row : f32
  // expected-error @+1 {{'updraft.apply' op has an operand of type 'f64', must have the type of the result, 'f32'}}
  %x = updraft.apply sort_rows(%g, %n) : (f32, f64) -> f32
  updraft.next %x : f32
}

// -----

// apply_c2: a matrix that isn't square
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.apply' op has a first operand of extent `element`, `cholesky` takes a square matrix}}
  %x = updraft.apply cholesky(%g) : (f32) -> f32
  updraft.next %x : f32
}

// -----

// apply_c2: a matrix of columns x rows
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %t = updraft.transpose %g : f32
  %n = updraft.reduce sum %g over row : f32
  %r = arith.truncf %n : f64 to f32
  // expected-error @+1 {{'updraft.apply' op has a first operand of extent `transposed`, `sort_columns` takes a matrix over `element` or a square one}}
  %x = updraft.apply sort_columns(%t, %r) : (f32, f32) -> f32
  updraft.next %p : f32
}

// -----

// apply_c2: a vector
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = updraft.reduce sum %g over row : f32
  %r = arith.truncf %n : f64 to f32
  // expected-error @+1 {{'updraft.apply' op has a first operand of extent `row`, `eigenvalues` takes a square matrix}}
  %x = updraft.apply eigenvalues(%r) : (f32) -> f32
  updraft.next %p : f32
}

// -----

// apply_c3: other rows
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %t = updraft.transpose %g : f32
  %gram = updraft.product %t, %g : f32
  // expected-error @+1 {{'updraft.apply' op has operands of extents `columns_by_columns` and `element`, the second must be a matrix with as many rows as the first}}
  %x = updraft.apply solve_lower(%gram, %g) : (f32, f32) -> f32
  updraft.next %x : f32
}

// -----

// apply_c3: a matrix that isn't in memory
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %t = updraft.transpose %g : f32
  %gram = updraft.product %t, %g : f32
  // expected-error @+1 {{'updraft.apply' op has operands of extents `columns_by_columns` and `transposed`, the second must be a matrix with as many rows as the first}}
  %x = updraft.apply solve_upper(%gram, %t) : (f32, f32) -> f32
  updraft.next %p : f32
}

// -----

// apply_c4: columns for rows
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = updraft.reduce sum %g over column : f32
  %c = arith.truncf %n : f64 to f32
  // expected-error @+1 {{'updraft.apply' op sorts a matrix over `element` by values over `column`, they must be over `row`}}
  %x = updraft.apply sort_rows(%g, %c) : (f32, f32) -> f32
  updraft.next %x : f32
}

// -----

// apply_c4: columns of a square matrix of rows, and a scalar
updraft.rule @R compute f32 matrix {
  %lr = updraft.hyper "lr" = 1.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %t = updraft.transpose %g : f32
  %gram = updraft.product %g, %t : f32
  %k = arith.truncf %lr : f64 to f32
  // expected-error @+1 {{'updraft.apply' op sorts a matrix over `rows_by_rows` by values over `group`, they must be over `row`}}
  %x = updraft.apply sort_columns(%gram, %k) : (f32, f32) -> f32
  updraft.next %p : f32
}

// -----

// rule_c6: a function of a square matrix, and the parameter
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %t = updraft.transpose %g : f32
  %gram = updraft.product %g, %t : f32
  %q = updraft.apply eigenvectors(%gram) : (f32) -> f32
  // expected-error @+1 {{'arith.addf' op has operands of extents `rows_by_rows`, `element`, must have matrices of one shape}}
  %x = arith.addf %q, %p : f32
  updraft.next %x : f32
}

// -----

// call_c1: a plan for vectors
updraft.plan @P compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.call' op is in a plan without `matrix`}}
  %x = updraft.call transpose(%p) : (!updraft.stream<f32>) -> !updraft.stream<f32>
}

// -----

// call_c1: an operand of another type
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %l = updraft.stream "l" : !updraft.stream<bf16, rows_by_rows>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.call' op has a stream of type '!updraft.stream<bf16, rows_by_rows>', must be of 'f32'}}
  %x = updraft.call qr(%l)
      : (!updraft.stream<bf16, rows_by_rows>) -> !updraft.stream<f32, rows_by_rows>
}

// -----

// call_c1: a result of another type
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %l = updraft.stream "l" : !updraft.stream<f32, rows_by_rows>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.call' op has a stream of type '!updraft.stream<f64, row>', must be of 'f32'}}
  %x = updraft.call eigenvalues(%l)
      : (!updraft.stream<f32, rows_by_rows>) -> !updraft.stream<f64, row>
}

// -----

// call_c2: the number of operands
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.call' op has 0 operands, `transpose` takes 1}}
  %x = updraft.call transpose() : () -> !updraft.stream<f32>
}

// -----

// call_c2: an operand
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.call' op has a first operand of extent `element`, `qr` takes a square matrix}}
  %x = updraft.call qr(%g) : (!updraft.stream<f32>) -> !updraft.stream<f32>
}

// -----

// call_c2: the result
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %l = updraft.stream "l" : !updraft.stream<f32, rows_by_rows>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.call' op has a result over `rows_by_rows`, must be over `element`}}
  %x = updraft.call solve_lower(%l, %g)
      : (!updraft.stream<f32, rows_by_rows>, !updraft.stream<f32>)
      -> !updraft.stream<f32, rows_by_rows>
}

// -----

// call_c3
updraft.plan @P compute f32 matrix {
  // expected-note @+1 {{it is defined here}}
  %first = updraft.first
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %l = updraft.stream "l" : !updraft.stream<f32, rows_by_rows>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.call' op has a condition that is not a result of `updraft.prologue`}}
  %x = updraft.call when(%first) qr(%l)
      : (!updraft.stream<f32, rows_by_rows>) -> !updraft.stream<f32, rows_by_rows>
}

// -----

// multiply_c4
updraft.plan @P compute f32 matrix {
  // expected-note @+1 {{it is defined here}}
  %first = updraft.first
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.multiply' op has a condition that is not a result of `updraft.prologue`}}
  %x = updraft.multiply when(%first) %p, %p transposed
      : !updraft.stream<f32>, !updraft.stream<f32> -> !updraft.stream<f32, rows_by_rows>
}

// -----

// sweep_c5: the condition
updraft.plan @P compute f32 {
  // expected-note @+1 {{it is defined here}}
  %first = updraft.first
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  // expected-error @+1 {{'updraft.sweep' op has a condition that is not a result of `updraft.prologue`}}
  updraft.sweep when(%first) reads(%g : !updraft.stream<f32>) writes(%p : !updraft.stream<f32>) {
  ^bb0(%a: f32):
    updraft.store %a : f32
  }
}

// -----

// rule_c1: a function of matrices in a plan
updraft.plan @P compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  updraft.sweep reads(%g : !updraft.stream<f32>) {
  ^bb0(%a: f32):
    // expected-error @+1 {{'updraft.apply' op expects parent op 'updraft.rule'}}
    %x = updraft.apply transpose(%a) : (f32) -> f32
    updraft.store
  }
}
