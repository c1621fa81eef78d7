// RUN: updraft-opt %s -split-input-file -verify-diagnostics
// Each constraint of a rule, by its label. Constraints of types are at the end.

// rule_c1
updraft.rule @R compute f32 {
  // expected-error @+1 {{'updraft.param' op has the type 'f64', must have the compute type 'f32'}}
  %p = updraft.param stored f32 : f64
  %g = updraft.grad stored f32 : f32
  updraft.next %g : f32
}

// -----

// rule_c1: neither a float nor an integer
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %c = arith.fptoui %g : f32 to i32
  // expected-error @+1 {{'arith.index_cast' op has a result of type 'index', element arithmetic must be on floats and integers}}
  %i = arith.index_cast %c : i32 to index
  updraft.next %p : f32
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
  // expected-error @+1 {{'updraft.next' op has an operand of type 'f64' for `param`, must have the type 'f32'}}
  updraft.next %lr : f64
}

// -----

// rule_c5
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.reduce' op has the extent `row`, which only a rule with `matrix` has}}
  %r = updraft.reduce sum %g over row : f32
  updraft.next %p : f32
}

// -----

// rule_c5: a state
updraft.rule @R compute f32 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.state' op has the extent `column`, which only a rule with `matrix` has}}
  %r = updraft.state "r" over column stored f32 initial %zero : f32
  updraft.next %p, %r : f32, f32
}

// -----

// state_c2
updraft.rule @R compute f32 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.state' op over `tensor` has a result of type 'f32', must have the type 'f64'}}
  %r = updraft.state "r" over tensor stored f32 initial %zero : f32
  updraft.next %p, %r : f32, f32
}

// -----

// state_c2: element
updraft.rule @R compute f32 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.state' op over `element` has a result of type 'f64', must have the type 'f32'}}
  %r = updraft.state "r" stored f32 initial %zero : f64
  updraft.next %p, %r : f32, f64
}

// -----

// state_c3
updraft.rule @R compute f32 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.state' op is stored as '!updraft.blocked<companded>' over `tensor`, must be over `element`}}
  %s = updraft.state "s" over tensor stored !updraft.blocked<companded> initial %zero : f64
  updraft.next %p, %s : f32, f64
}

// -----

// state_c2: model
updraft.rule @R compute f32 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.state' op is over `model`, must be over `group`, `tensor`, `row`, `column`, `element`, `rows_by_rows` or `columns_by_columns`}}
  %r = updraft.state "r" over model stored f32 initial %zero : f64
  updraft.next %p, %r : f32, f64
}

// -----

// state_c2: batch
updraft.rule @R compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.state' op is over `batch`, must be over `group`, `tensor`, `row`, `column`, `element`, `rows_by_rows` or `columns_by_columns`}}
  %r = updraft.state "r" over batch stored f32 initial %zero : f32
  updraft.next %p, %r : f32, f32
}

// -----

// size_c1: batch
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.size' op is over `batch`, must be over `group`, `tensor`, `row` or `column`}}
  %n = updraft.size over batch
  updraft.next %p : f32
}

// -----

// size_c1
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.size' op is over `element`, must be over `group`, `tensor`, `row` or `column`}}
  %n = updraft.size over element
  updraft.next %p : f32
}

// -----

// state_c4
updraft.rule @R compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.state' op over `row` is stored as '!updraft.stochastic<bf16>', which only a state over `element` can be}}
  %r = updraft.state "r" over row stored !updraft.stochastic<bf16> initial %zero : f32
  updraft.next %p, %r : f32, f32
}

// -----

// state_c4: i8
updraft.rule @R compute f32 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.state' op over `tensor` is stored as 'i8', which only a state over `element` can be}}
  %r = updraft.state "r" over tensor stored i8 initial %zero : f64
  updraft.next %p, %r : f32, f64
}

// -----

// stochastictype_c1
updraft.rule @R compute f32 {
  // expected-error @+1 {{storage type is 'f16', must be bf16}}
  %p = updraft.param stored !updraft.stochastic<f16> : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %p : f32
}

// -----

// correctedtype_c1
updraft.rule @R compute f32 {
  // expected-error @+1 {{storage type is 'f32', must be bf16}}
  %p = updraft.param stored !updraft.corrected<f32> : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %p : f32
}

// -----

updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  // expected-error @+1 {{'updraft.grad' op attribute 'storage' failed to satisfy constraint: type attribute of storage type: f32, f64, bf16 or f16}}
  %g = updraft.grad stored !updraft.stochastic<bf16> : f32
  updraft.next %p : f32
}

// -----

// random_c1
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.random' op has stream 256, must be from 0 to 255}}
  %n = updraft.random 256
  updraft.next %p : f32
}

// -----

// reduce_c1
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.reduce' op is over `model`, must be over `group`, `tensor`, `batch`, `row` or `column`}}
  %n = updraft.reduce max %g over model : f32
  updraft.next %p : f32
}

// -----

// reduce_c2
updraft.rule @R compute f32 {
  %lr = updraft.hyper "lr" = 1.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.reduce' op over `tensor` has an operand of extent `group`, must have a larger one}}
  %n = updraft.reduce max %lr over tensor : f64
  updraft.next %p : f32
}

// -----

// reduce_c3
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %m = updraft.reduce max %g over tensor : f32
  // expected-error @+1 {{'updraft.reduce' op has an operand of extent `tensor`, must be over elements, rows, columns or batches, or a square matrix}}
  %n = updraft.reduce sum %m over group : f64
  updraft.next %p : f32
}

// -----

// reduce_c4
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.reduce' op over `batch` has an operand of extent `element`, must be over rows or columns}}
  %m = updraft.reduce max %g over batch : f32
  updraft.next %p : f32
}

// -----

// next_c3
updraft.rule @R compute f32 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %r = updraft.state "r" over group stored f32 initial %zero : f64
  %t = updraft.step
  // expected-error @+1 {{'updraft.next' op has an operand of extent `tensor` for `r`, which is over `group`}}
  updraft.next %p, %t : f32, f64
}

// -----

// next_c4
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %bad = arith.cmpf uno, %g, %g : f32
  // expected-error @+1 {{'updraft.next' op has a condition of `skip` of extent `element`, must have at most the extent `tensor`}}
  updraft.next %p skip(%bad) : f32
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
  // expected-error @+1 {{attribute 'storage' failed to satisfy constraint: type attribute of storage type: f32, f64, bf16, f16, !updraft.stochastic or !updraft.corrected}}
  %p = updraft.param stored i8 : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %p : f32
}

// -----

// expected-error @+1 {{'updraft.param' op expects parent op 'updraft.rule'}}
%p = updraft.param stored f32 : f32

// -----

// shared_c1
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %wide = arith.extf %g : f32 to f64
  // expected-error @+1 {{'updraft.reduce' op has `updraft.shared` = "x", which is a number from 0 to 65535 of a reduction over `group`}}
  %sum = updraft.reduce sum %wide over group {updraft.shared = "x"} : f64
  updraft.next %p : f32
}

// -----

// shared_c1
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %wide = arith.extf %g : f32 to f64
  // expected-error @+1 {{'updraft.reduce' op has `updraft.shared` = 65536 : i64, which is a number from 0 to 65535 of a reduction over `group`}}
  %sum = updraft.reduce sum %wide over group {updraft.shared = 65536 : i64} : f64
  updraft.next %p : f32
}

// -----

// shared_c1
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %wide = arith.extf %g : f32 to f64
  // expected-error @+1 {{'updraft.reduce' op has `updraft.shared` = 0 : i64, which is a number from 0 to 65535 of a reduction over `group`}}
  %sum = updraft.reduce sum %wide over tensor {updraft.shared = 0 : i64} : f64
  updraft.next %p : f32
}

// -----

// rule_c6: the square matrix of rows and the parameter
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %t = updraft.transpose %g : f32
  %gram = updraft.product %g, %t : f32
  // expected-error @+1 {{'arith.addf' op has operands of extents `rows_by_rows`, `element`, must have matrices of one shape}}
  %x = arith.addf %gram, %p : f32
  updraft.next %p : f32
}

// -----

// rule_c6: a matrix and its transpose
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %t = updraft.transpose %g : f32
  // expected-error @+1 {{'arith.addf' op has operands of extents `transposed`, `element`, must have matrices of one shape}}
  %x = arith.addf %t, %g : f32
  updraft.next %p : f32
}

// -----

// rule_c6: columns of the parameter, and its rows
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %t = updraft.transpose %g : f32
  %n = updraft.reduce sum %g over row : f32
  %n32 = arith.truncf %n : f64 to f32
  // expected-error @+1 {{'arith.mulf' op has operands of extents `transposed`, `row`, must have matrices of one shape}}
  %x = arith.mulf %t, %n32 : f32
  updraft.next %p : f32
}

// -----

// rule_c7
// expected-error @+1 {{'updraft.rule' op has `shapes`, which only a rule with `matrix` has}}
updraft.rule @R compute f32 shapes wide {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %p : f32
}

// -----

// rule_c5: a transposed matrix
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.transpose' op has the extent `transposed`, which only a rule with `matrix` has}}
  %t = updraft.transpose %g : f32
  updraft.next %p : f32
}

// -----

// product_c1: rows
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = updraft.reduce sum %g over row : f32
  %r = arith.truncf %n : f64 to f32
  // expected-error @+1 {{'updraft.product' op has an operand of extent `row`, must be a matrix of values}}
  %x = updraft.product %r, %g : f32
  updraft.next %p : f32
}

// -----

// product_c1: a constant
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %c = arith.constant 1.0 : f32
  // expected-error @+1 {{'updraft.product' op has an operand of extent `model`, must be a matrix of values}}
  %x = updraft.product %g, %c : f32
  updraft.next %p : f32
}

// -----

// product_c2: rows x columns, twice
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.product' op has operands of extents `element` and `element`, must have as many columns as rows}}
  %x = updraft.product %g, %p : f32
  updraft.next %p : f32
}

// -----

// product_c2: rows x columns and rows x rows
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %t = updraft.transpose %g : f32
  %gram = updraft.product %g, %t : f32
  // expected-error @+1 {{'updraft.product' op has operands of extents `element` and `rows_by_rows`, must have as many columns as rows}}
  %x = updraft.product %g, %gram : f32
  updraft.next %p : f32
}

// -----

// product_c3
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %t = updraft.transpose %g : f32
  %gram = updraft.product %g, %t : f32
  // expected-error @+1 {{'updraft.product' op is `symmetric`, but its result has the extent `element`, must be square}}
  %x = updraft.product symmetric %gram, %g : f32
  updraft.next %p : f32
}

// -----

// transpose_c1: columns
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = updraft.reduce sum %g over column : f32
  %r = arith.truncf %n : f64 to f32
  // expected-error @+1 {{'updraft.transpose' op has an operand of extent `column`, must be a matrix of values}}
  %x = updraft.transpose %r : f32
  updraft.next %p : f32
}

// -----

// transpose_c1: a hyperparameter
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %lr = updraft.hyper "lr" = 1.0
  %r = arith.truncf %lr : f64 to f32
  // expected-error @+1 {{'updraft.transpose' op has an operand of extent `group`, must be a matrix of values}}
  %x = updraft.transpose %r : f32
  updraft.next %p : f32
}

// -----

// reduce_c3: a transposed matrix
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %t = updraft.transpose %g : f32
  // expected-error @+1 {{'updraft.reduce' op has an operand of extent `transposed`, must be over elements, rows, columns or batches, or a square matrix}}
  %n = updraft.reduce sum %t over tensor : f32
  updraft.next %p : f32
}

// -----

// reduce_c1: a square matrix
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.reduce' op is over `rows_by_rows`, must be over `group`, `tensor`, `batch`, `row` or `column`}}
  %n = updraft.reduce sum %g over rows_by_rows : f32
  updraft.next %p : f32
}

// -----

// reduce_c4: a square matrix
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %t = updraft.transpose %g : f32
  %gram = updraft.product %g, %t : f32
  // expected-error @+1 {{'updraft.reduce' op over `batch` has an operand of extent `rows_by_rows`, must be over rows or columns}}
  %n = updraft.reduce sum %gram over batch : f32
  updraft.next %p : f32
}

// -----

// size_c1: a square matrix
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.size' op is over `rows_by_rows`, must be over `group`, `tensor`, `row` or `column`}}
  %n = updraft.size over rows_by_rows
  updraft.next %p : f32
}

// -----

// next: a square matrix
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %t = updraft.transpose %g : f32
  %gram = updraft.product %g, %t : f32
  // expected-error @+1 {{'updraft.next' op has an operand of extent `rows_by_rows` for `param`, which is over `element`}}
  updraft.next %gram : f32
}

// -----

// state_c2: a transposed matrix
updraft.rule @R compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.state' op is over `transposed`, must be over `group`, `tensor`, `row`, `column`, `element`, `rows_by_rows` or `columns_by_columns`}}
  %r = updraft.state "r" over transposed stored f32 initial %zero : f32
  updraft.next %p, %r : f32, f32
}

// -----

// state_c3: a square matrix
updraft.rule @R compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.state' op is stored as '!updraft.blocked<linear>' over `rows_by_rows`, must be over `element`}}
  %r = updraft.state "r" over rows_by_rows stored !updraft.blocked<linear> initial %zero : f32
  updraft.next %p, %r : f32, f32
}

// -----

// rule_c5: a square matrix
updraft.rule @R compute f32 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.state' op has the extent `columns_by_columns`, which only a rule with `matrix` has}}
  %r = updraft.state "r" over columns_by_columns stored f32 initial %zero : f32
  updraft.next %p, %r : f32, f32
}

// -----

// next_c3: an element for a square matrix
updraft.rule @R compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %r = updraft.state "r" over rows_by_rows stored f32 initial %zero : f32
  // expected-error @+1 {{'updraft.next' op has an operand of extent `element` for `r`, which is over `rows_by_rows`}}
  updraft.next %p, %g : f32, f32
}

// -----

// identity_c1
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.identity' op is over `element`, must be over `rows_by_rows` or `columns_by_columns`}}
  %i = updraft.identity over element : f32
  updraft.next %p : f32
}

// -----

// broadcast_c1
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.broadcast' op over `row` has an operand of extent `element`, must not have a larger one}}
  %b = updraft.broadcast %g over row : f32
  updraft.next %p : f32
}

// -----

// rule_c1: an identity
updraft.rule @R compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  // expected-error @+1 {{'updraft.identity' op has the type 'f64', must have the compute type 'f32'}}
  %i = updraft.identity over rows_by_rows : f64
  updraft.next %p : f32
}
