// Operations that no kernel of a plan has.
// RUN: not updraft-opt %s --convert-updraft-gpu-to-emulator 2>&1 | FileCheck %s

// CHECK: 'gpu.barrier' op is not emulated
gpu.module @kernels {
  gpu.func @R_sweep0() kernel {
    gpu.barrier
    gpu.return
  }
}
