// What no kernel of a plan has.
// RUN: updraft-opt %s --split-input-file --verify-diagnostics --convert-updraft-gpu-to-emulator

gpu.module @kernels {
  gpu.func @R_sweep0() kernel {
    // expected-error @+1 {{'gpu.barrier' op is not emulated}}
    gpu.barrier
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'gpu.func' op has an argument of type 'index', must be a pointer, an integer or a float}}
  gpu.func @R_sweep0(%n: index) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{failed to legalize operation 'gpu.func'}}
  gpu.func @R_sweep0(%e: !updraft.elements<f32, 1>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @R_sweep0(%table: !llvm.ptr<1>, %first: i1, %i: i64, %x: f32) kernel {
    // expected-error @+1 {{failed to legalize operation 'scf.if'}}
    %e = scf.if %first -> !updraft.elements<f32, 1> {
      %a = updraft.locate %table[0] : !llvm.ptr<1> -> !updraft.elements<f32, 1>
      scf.yield %a : !updraft.elements<f32, 1>
    } else {
      %b = updraft.locate %table[1] : !llvm.ptr<1> -> !updraft.elements<f32, 1>
      scf.yield %b : !updraft.elements<f32, 1>
    }
    updraft.write %x, %e[%i] : f32, !updraft.elements<f32, 1>, i64
    gpu.return
  }
}
