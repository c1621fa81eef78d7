// RUN: updraft-opt %s -updraft-orient-products -split-input-file -verify-diagnostics

updraft.rule @R compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %t = updraft.transpose %param : f32
  %a = updraft.product %grad, %t : f32
  %n = updraft.reduce sum %a over row : f32
  %r = arith.truncf %n : f64 to f32
  %b = arith.mulf %a, %r : f32
  // expected-error @+1 {{the transpose of a square matrix that was computed from a square state, or with values of its rows or columns, can only be multiplied by a matrix}}
  %bt = updraft.transpose %b : f32
  %s = arith.addf %a, %bt : f32
  %y = updraft.product %s, %grad : f32
  updraft.next %y : f32
}

// -----

// A sweep can't read a transposed state.
updraft.rule @R compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  // expected-error @+1 {{the transpose of a square matrix that was computed from a square state, or with values of its rows or columns, can only be multiplied by a matrix}}
  %t = updraft.transpose %q : f32
  %s = arith.subf %t, %q : f32
  updraft.next %param, %s : f32, f32
}
