updraft.plan @R compute f32 {
  %lr = updraft.hyper "lr" = 1.0e-1
  %p = updraft.stream "param" : !updraft.stream<bf16>
  %g = updraft.stream "grad" : !updraft.stream<f16>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%p, %g : !updraft.stream<bf16>, !updraft.stream<f16>) writes(%p : !updraft.stream<bf16>) {
  ^bb0(%x: f32, %y: f32):
    %0 = arith.subf %x, %y : f32
    updraft.store %0 : f32
  }
}
