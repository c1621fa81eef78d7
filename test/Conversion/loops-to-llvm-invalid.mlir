// An operation without instructions is refused at its location.
// RUN: updraft-opt %s --split-input-file --verify-diagnostics --convert-updraft-loops-to-llvm

func.func @scalars(%x: f64) -> f64 {
  // expected-error@+1 {{failed to legalize operation 'math.erf' that was explicitly marked illegal}}
  %0 = math.erf %x : f64
  return %0 : f64
}

// -----

func.func @parallel(%n: index) {
  // expected-error@+1 {{failed to legalize operation 'scf.parallel' that was explicitly marked illegal}}
  scf.parallel (%i) = (%n) to (%n) step (%n) {
    scf.reduce
  }
  return
}

// -----

// expected-error@+1 {{failed to legalize operation 'func.func' that was explicitly marked illegal}}
func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
