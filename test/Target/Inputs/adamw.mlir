// AdamW in f32, scheduled by hand.
updraft.plan @AdamW compute f32 {
  %lr = updraft.hyper "lr" = 1.000000e-03
  %beta1 = updraft.hyper "beta1" = 9.000000e-01
  %beta2 = updraft.hyper "beta2" = 9.990000e-01
  %eps = updraft.hyper "eps" = 1.000000e-08
  %weight_decay = updraft.hyper "weight_decay" = 1.000000e-02
  %step = updraft.step
  %param = updraft.stream "param" : !updraft.stream<f32>
  %grad = updraft.stream "grad" : !updraft.stream<f32>
  %exp_avg = updraft.stream "exp_avg" : !updraft.stream<f32>
  %exp_avg_sq = updraft.stream "exp_avg_sq" : !updraft.stream<f32>
  updraft.initial() {
    %zero = arith.constant 0.000000e+00 : f64
    updraft.yield %zero, %zero : f64, f64
  }
  updraft.validate(%lr, %beta1) messages ["Invalid learning rate: {lr}", "Invalid beta1: {beta1}"] {
  ^bb0(%a: f64, %b: f64):
    %zero = arith.constant 0.000000e+00 : f64
    %one = arith.constant 1.000000e+00 : f64
    %0 = arith.cmpf oge, %a, %zero : f64
    %1 = arith.cmpf oge, %b, %zero : f64
    %2 = arith.cmpf olt, %b, %one : f64
    %3 = arith.andi %1, %2 : i1
    updraft.yield %0, %3 : i1, i1
  }
  %k:7 = updraft.prologue(%lr, %beta1, %beta2, %eps, %weight_decay, %step)
      : (f64, f64, f64, f64, f64, f64) -> (f32, f32, f32, f32, f32, f32, f32) {
  ^bb0(%l: f64, %b1: f64, %b2: f64, %e: f64, %w: f64, %t: f64):
    %one = arith.constant 1.000000e+00 : f64
    %c1 = arith.subf %one, %b1 : f64
    %c2 = arith.subf %one, %b2 : f64
    %p1 = math.powf %b1, %t : f64
    %p2 = math.powf %b2, %t : f64
    %d1 = arith.subf %one, %p1 : f64
    %d2 = arith.subf %one, %p2 : f64
    %root = math.sqrt %d2 : f64
    %lw = arith.mulf %l, %w : f64
    %decay = arith.subf %one, %lw : f64
    %nl = arith.negf %l : f64
    %size = arith.divf %nl, %d1 : f64
    %0 = arith.truncf %c1 : f64 to f32
    %1 = arith.truncf %b2 : f64 to f32
    %2 = arith.truncf %c2 : f64 to f32
    %3 = arith.truncf %root : f64 to f32
    %4 = arith.truncf %e : f64 to f32
    %5 = arith.truncf %decay : f64 to f32
    %6 = arith.truncf %size : f64 to f32
    updraft.yield %0, %1, %2, %3, %4, %5, %6 : f32, f32, f32, f32, f32, f32, f32
  }
  updraft.sweep scalars(%k#0, %k#1, %k#2, %k#3, %k#4, %k#5, %k#6 : f32, f32, f32, f32, f32, f32, f32)
      reads(%param, %grad, %exp_avg, %exp_avg_sq : !updraft.stream<f32>, !updraft.stream<f32>, !updraft.stream<f32>, !updraft.stream<f32>)
      writes(%param, %exp_avg, %exp_avg_sq : !updraft.stream<f32>, !updraft.stream<f32>, !updraft.stream<f32>) {
  ^bb0(%c1: f32, %b2: f32, %c2: f32, %root: f32, %e: f32, %decay: f32, %size: f32,
       %p: f32, %g: f32, %m: f32, %v: f32):
    %0 = arith.subf %g, %m : f32
    %1 = arith.mulf %0, %c1 : f32
    %m1 = arith.addf %m, %1 : f32
    %2 = arith.mulf %v, %b2 : f32
    %3 = arith.mulf %g, %g : f32
    %4 = arith.mulf %3, %c2 : f32
    %v1 = arith.addf %2, %4 : f32
    %5 = math.sqrt %v1 : f32
    %6 = arith.divf %5, %root : f32
    %denom = arith.addf %6, %e : f32
    %7 = arith.mulf %p, %decay : f32
    %8 = arith.divf %m1, %denom : f32
    %9 = arith.mulf %8, %size : f32
    %p1 = arith.addf %7, %9 : f32
    updraft.store %p1, %m1, %v1 : f32, f32, f32
  }
}
