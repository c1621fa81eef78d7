// Operations of sweeps and storage conversions never become calls, on any CPU.
// RUN: plan-to-object %s --target=x86-64-v4 --emit=asm | FileCheck %s --implicit-check-not=call
// RUN: plan-to-object %s --target=x86-64-v3 --emit=asm | FileCheck %s --implicit-check-not=call
// RUN: plan-to-object %s --target=aarch64 --emit=asm \
// RUN:   | FileCheck %s --implicit-check-not='{{\sblr?\s}}'

updraft.plan @InF32FromF32ToF64 compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f64>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%p, %g : !updraft.stream<f64>, !updraft.stream<f32>)
      writes(%p : !updraft.stream<f64>) {
  ^bb0(%x: f32, %y: f32):
    %a0 = math.floor %x : f32
    %b0 = arith.addf %x, %a0 : f32
    %a1 = math.ceil %x : f32
    %b1 = arith.addf %b0, %a1 : f32
    %a2 = math.round %x : f32
    %b2 = arith.addf %b1, %a2 : f32
    %a3 = math.roundeven %x : f32
    %b3 = arith.addf %b2, %a3 : f32
    %a4 = math.trunc %x : f32
    %b4 = arith.addf %b3, %a4 : f32
    %a5 = math.absf %x : f32
    %b5 = arith.addf %b4, %a5 : f32
    %a6 = math.copysign %x, %y : f32
    %b6 = arith.addf %b5, %a6 : f32
    %a7 = math.fma %x, %y, %x : f32
    %b7 = arith.addf %b6, %a7 : f32
    %a8 = math.sqrt %x : f32
    %b8 = arith.addf %b7, %a8 : f32
    %a9 = arith.maximumf %x, %y : f32
    %b9 = arith.addf %b8, %a9 : f32
    %a10 = arith.minimumf %x, %y : f32
    %b10 = arith.addf %b9, %a10 : f32
    %a11 = arith.maxnumf %x, %y : f32
    %b11 = arith.addf %b10, %a11 : f32
    %a12 = arith.minnumf %x, %y : f32
    %b12 = arith.addf %b11, %a12 : f32
    updraft.store %b12 : f32
  }
}

updraft.plan @InF32FromBF16ToF16 compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f16>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%p, %g : !updraft.stream<f16>, !updraft.stream<bf16>)
      writes(%p : !updraft.stream<f16>) {
  ^bb0(%x: f32, %y: f32):
    %a0 = math.floor %x : f32
    %b0 = arith.addf %x, %a0 : f32
    %a1 = math.ceil %x : f32
    %b1 = arith.addf %b0, %a1 : f32
    %a2 = math.round %x : f32
    %b2 = arith.addf %b1, %a2 : f32
    %a3 = math.roundeven %x : f32
    %b3 = arith.addf %b2, %a3 : f32
    %a4 = math.trunc %x : f32
    %b4 = arith.addf %b3, %a4 : f32
    %a5 = math.absf %x : f32
    %b5 = arith.addf %b4, %a5 : f32
    %a6 = math.copysign %x, %y : f32
    %b6 = arith.addf %b5, %a6 : f32
    %a7 = math.fma %x, %y, %x : f32
    %b7 = arith.addf %b6, %a7 : f32
    %a8 = math.sqrt %x : f32
    %b8 = arith.addf %b7, %a8 : f32
    %a9 = arith.maximumf %x, %y : f32
    %b9 = arith.addf %b8, %a9 : f32
    %a10 = arith.minimumf %x, %y : f32
    %b10 = arith.addf %b9, %a10 : f32
    %a11 = arith.maxnumf %x, %y : f32
    %b11 = arith.addf %b10, %a11 : f32
    %a12 = arith.minnumf %x, %y : f32
    %b12 = arith.addf %b11, %a12 : f32
    updraft.store %b12 : f32
  }
}

updraft.plan @InF32FromF16ToBF16 compute f32 {
  %p = updraft.stream "param" : !updraft.stream<bf16>
  %g = updraft.stream "grad" : !updraft.stream<f16>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%p, %g : !updraft.stream<bf16>, !updraft.stream<f16>)
      writes(%p : !updraft.stream<bf16>) {
  ^bb0(%x: f32, %y: f32):
    %a0 = math.floor %x : f32
    %b0 = arith.addf %x, %a0 : f32
    %a1 = math.ceil %x : f32
    %b1 = arith.addf %b0, %a1 : f32
    %a2 = math.round %x : f32
    %b2 = arith.addf %b1, %a2 : f32
    %a3 = math.roundeven %x : f32
    %b3 = arith.addf %b2, %a3 : f32
    %a4 = math.trunc %x : f32
    %b4 = arith.addf %b3, %a4 : f32
    %a5 = math.absf %x : f32
    %b5 = arith.addf %b4, %a5 : f32
    %a6 = math.copysign %x, %y : f32
    %b6 = arith.addf %b5, %a6 : f32
    %a7 = math.fma %x, %y, %x : f32
    %b7 = arith.addf %b6, %a7 : f32
    %a8 = math.sqrt %x : f32
    %b8 = arith.addf %b7, %a8 : f32
    %a9 = arith.maximumf %x, %y : f32
    %b9 = arith.addf %b8, %a9 : f32
    %a10 = arith.minimumf %x, %y : f32
    %b10 = arith.addf %b9, %a10 : f32
    %a11 = arith.maxnumf %x, %y : f32
    %b11 = arith.addf %b10, %a11 : f32
    %a12 = arith.minnumf %x, %y : f32
    %b12 = arith.addf %b11, %a12 : f32
    updraft.store %b12 : f32
  }
}

updraft.plan @InF32FromF64ToF32 compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f64>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%p, %g : !updraft.stream<f32>, !updraft.stream<f64>)
      writes(%p : !updraft.stream<f32>) {
  ^bb0(%x: f32, %y: f32):
    %a0 = math.floor %x : f32
    %b0 = arith.addf %x, %a0 : f32
    %a1 = math.ceil %x : f32
    %b1 = arith.addf %b0, %a1 : f32
    %a2 = math.round %x : f32
    %b2 = arith.addf %b1, %a2 : f32
    %a3 = math.roundeven %x : f32
    %b3 = arith.addf %b2, %a3 : f32
    %a4 = math.trunc %x : f32
    %b4 = arith.addf %b3, %a4 : f32
    %a5 = math.absf %x : f32
    %b5 = arith.addf %b4, %a5 : f32
    %a6 = math.copysign %x, %y : f32
    %b6 = arith.addf %b5, %a6 : f32
    %a7 = math.fma %x, %y, %x : f32
    %b7 = arith.addf %b6, %a7 : f32
    %a8 = math.sqrt %x : f32
    %b8 = arith.addf %b7, %a8 : f32
    %a9 = arith.maximumf %x, %y : f32
    %b9 = arith.addf %b8, %a9 : f32
    %a10 = arith.minimumf %x, %y : f32
    %b10 = arith.addf %b9, %a10 : f32
    %a11 = arith.maxnumf %x, %y : f32
    %b11 = arith.addf %b10, %a11 : f32
    %a12 = arith.minnumf %x, %y : f32
    %b12 = arith.addf %b11, %a12 : f32
    updraft.store %b12 : f32
  }
}

updraft.plan @InF64FromF32ToF64 compute f64 {
  %p = updraft.stream "param" : !updraft.stream<f64>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%p, %g : !updraft.stream<f64>, !updraft.stream<f32>)
      writes(%p : !updraft.stream<f64>) {
  ^bb0(%x: f64, %y: f64):
    %a0 = math.floor %x : f64
    %b0 = arith.addf %x, %a0 : f64
    %a1 = math.ceil %x : f64
    %b1 = arith.addf %b0, %a1 : f64
    %a2 = math.round %x : f64
    %b2 = arith.addf %b1, %a2 : f64
    %a3 = math.roundeven %x : f64
    %b3 = arith.addf %b2, %a3 : f64
    %a4 = math.trunc %x : f64
    %b4 = arith.addf %b3, %a4 : f64
    %a5 = math.absf %x : f64
    %b5 = arith.addf %b4, %a5 : f64
    %a6 = math.copysign %x, %y : f64
    %b6 = arith.addf %b5, %a6 : f64
    %a7 = math.fma %x, %y, %x : f64
    %b7 = arith.addf %b6, %a7 : f64
    %a8 = math.sqrt %x : f64
    %b8 = arith.addf %b7, %a8 : f64
    %a9 = arith.maximumf %x, %y : f64
    %b9 = arith.addf %b8, %a9 : f64
    %a10 = arith.minimumf %x, %y : f64
    %b10 = arith.addf %b9, %a10 : f64
    %a11 = arith.maxnumf %x, %y : f64
    %b11 = arith.addf %b10, %a11 : f64
    %a12 = arith.minnumf %x, %y : f64
    %b12 = arith.addf %b11, %a12 : f64
    updraft.store %b12 : f64
  }
}

updraft.plan @InF64FromBF16ToF16 compute f64 {
  %p = updraft.stream "param" : !updraft.stream<f16>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%p, %g : !updraft.stream<f16>, !updraft.stream<bf16>)
      writes(%p : !updraft.stream<f16>) {
  ^bb0(%x: f64, %y: f64):
    %a0 = math.floor %x : f64
    %b0 = arith.addf %x, %a0 : f64
    %a1 = math.ceil %x : f64
    %b1 = arith.addf %b0, %a1 : f64
    %a2 = math.round %x : f64
    %b2 = arith.addf %b1, %a2 : f64
    %a3 = math.roundeven %x : f64
    %b3 = arith.addf %b2, %a3 : f64
    %a4 = math.trunc %x : f64
    %b4 = arith.addf %b3, %a4 : f64
    %a5 = math.absf %x : f64
    %b5 = arith.addf %b4, %a5 : f64
    %a6 = math.copysign %x, %y : f64
    %b6 = arith.addf %b5, %a6 : f64
    %a7 = math.fma %x, %y, %x : f64
    %b7 = arith.addf %b6, %a7 : f64
    %a8 = math.sqrt %x : f64
    %b8 = arith.addf %b7, %a8 : f64
    %a9 = arith.maximumf %x, %y : f64
    %b9 = arith.addf %b8, %a9 : f64
    %a10 = arith.minimumf %x, %y : f64
    %b10 = arith.addf %b9, %a10 : f64
    %a11 = arith.maxnumf %x, %y : f64
    %b11 = arith.addf %b10, %a11 : f64
    %a12 = arith.minnumf %x, %y : f64
    %b12 = arith.addf %b11, %a12 : f64
    updraft.store %b12 : f64
  }
}

updraft.plan @InF64FromF16ToBF16 compute f64 {
  %p = updraft.stream "param" : !updraft.stream<bf16>
  %g = updraft.stream "grad" : !updraft.stream<f16>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%p, %g : !updraft.stream<bf16>, !updraft.stream<f16>)
      writes(%p : !updraft.stream<bf16>) {
  ^bb0(%x: f64, %y: f64):
    %a0 = math.floor %x : f64
    %b0 = arith.addf %x, %a0 : f64
    %a1 = math.ceil %x : f64
    %b1 = arith.addf %b0, %a1 : f64
    %a2 = math.round %x : f64
    %b2 = arith.addf %b1, %a2 : f64
    %a3 = math.roundeven %x : f64
    %b3 = arith.addf %b2, %a3 : f64
    %a4 = math.trunc %x : f64
    %b4 = arith.addf %b3, %a4 : f64
    %a5 = math.absf %x : f64
    %b5 = arith.addf %b4, %a5 : f64
    %a6 = math.copysign %x, %y : f64
    %b6 = arith.addf %b5, %a6 : f64
    %a7 = math.fma %x, %y, %x : f64
    %b7 = arith.addf %b6, %a7 : f64
    %a8 = math.sqrt %x : f64
    %b8 = arith.addf %b7, %a8 : f64
    %a9 = arith.maximumf %x, %y : f64
    %b9 = arith.addf %b8, %a9 : f64
    %a10 = arith.minimumf %x, %y : f64
    %b10 = arith.addf %b9, %a10 : f64
    %a11 = arith.maxnumf %x, %y : f64
    %b11 = arith.addf %b10, %a11 : f64
    %a12 = arith.minnumf %x, %y : f64
    %b12 = arith.addf %b11, %a12 : f64
    updraft.store %b12 : f64
  }
}

updraft.plan @InF64FromF64ToF32 compute f64 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f64>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%p, %g : !updraft.stream<f32>, !updraft.stream<f64>)
      writes(%p : !updraft.stream<f32>) {
  ^bb0(%x: f64, %y: f64):
    %a0 = math.floor %x : f64
    %b0 = arith.addf %x, %a0 : f64
    %a1 = math.ceil %x : f64
    %b1 = arith.addf %b0, %a1 : f64
    %a2 = math.round %x : f64
    %b2 = arith.addf %b1, %a2 : f64
    %a3 = math.roundeven %x : f64
    %b3 = arith.addf %b2, %a3 : f64
    %a4 = math.trunc %x : f64
    %b4 = arith.addf %b3, %a4 : f64
    %a5 = math.absf %x : f64
    %b5 = arith.addf %b4, %a5 : f64
    %a6 = math.copysign %x, %y : f64
    %b6 = arith.addf %b5, %a6 : f64
    %a7 = math.fma %x, %y, %x : f64
    %b7 = arith.addf %b6, %a7 : f64
    %a8 = math.sqrt %x : f64
    %b8 = arith.addf %b7, %a8 : f64
    %a9 = arith.maximumf %x, %y : f64
    %b9 = arith.addf %b8, %a9 : f64
    %a10 = arith.minimumf %x, %y : f64
    %b10 = arith.addf %b9, %a10 : f64
    %a11 = arith.maxnumf %x, %y : f64
    %b11 = arith.addf %b10, %a11 : f64
    %a12 = arith.minnumf %x, %y : f64
    %b12 = arith.addf %b11, %a12 : f64
    updraft.store %b12 : f64
  }
}

// CHECK: InF32FromF32ToF64_sweep0:
// CHECK: InF32FromBF16ToF16_sweep0:
// CHECK: InF32FromF16ToBF16_sweep0:
// CHECK: InF32FromF64ToF32_sweep0:
// CHECK: InF64FromF32ToF64_sweep0:
// CHECK: InF64FromBF16ToF16_sweep0:
// CHECK: InF64FromF16ToBF16_sweep0:
// CHECK: InF64FromF64ToF32_sweep0:
