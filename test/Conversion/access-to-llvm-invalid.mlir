// RUN: updraft-opt %s --convert-updraft-loops-to-llvm -verify-diagnostics

func.func @table(%table: i64) {
  // expected-error @+2 {{'updraft.locate' op has a table of type 'i64', must be an LLVM pointer}}
  // expected-error @+1 {{failed to legalize operation 'updraft.locate' that was explicitly marked illegal}}
  %e = updraft.locate %table[3] : i64 -> !updraft.elements<f32>
  return
}
