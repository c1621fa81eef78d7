// Rounding in storage becomes arithmetic on the bits of values, and corrections become states.
// RUN: updraft-opt %s --updraft-expand-storage --updraft-simplify | FileCheck %s
// RUN: updraft-opt %s -emit-bytecode | updraft-opt --updraft-expand-storage --updraft-simplify | FileCheck %s

// CHECK-LABEL: updraft.rule @Stochastic
// CHECK:         %param = updraft.param stored bf16 : f32
// CHECK:         %m = updraft.state "m" stored bf16 initial %cst : f32
// CHECK:         %[[SUM:.*]] = arith.addf %m, %grad : f32
// CHECK:         %[[WORD:.*]] = updraft.random 16
// CHECK:         %[[BITS:.*]] = arith.bitcast %[[SUM]] : f32 to i32
// CHECK:         %[[LOW:.*]] = arith.trunci %[[WORD]] : i64 to i32
// CHECK:         %[[RANDOM:.*]] = arith.andi %[[LOW]], %c65535_i32 : i32
// CHECK:         %[[ADDED:.*]] = arith.addi %[[BITS]], %[[RANDOM]] : i32
// CHECK:         %[[QUIET:.*]] = arith.ori %[[BITS]], %c4194304_i32 : i32
// CHECK:         %[[NAN:.*]] = arith.cmpf uno, %[[SUM]], %[[SUM]] : f32
// CHECK:         %[[EITHER:.*]] = arith.select %[[NAN]], %[[QUIET]], %[[ADDED]] : i32
// CHECK:         %[[UPPER:.*]] = arith.andi %[[EITHER]], %c-65536_i32 : i32
// CHECK:         %[[P:.*]] = arith.bitcast %[[UPPER]] : i32 to f32
// The second of the four values that share the bits.
// CHECK:         %[[SHIFTED:.*]] = arith.shrui %[[WORD]], %c16_i64 : i64
// CHECK:         arith.trunci %[[SHIFTED]] : i64 to i32
// CHECK:         updraft.next %[[P]], %{{.*}}, %kept : f32, f32, f32
updraft.rule @Stochastic compute f32 {
  %a = arith.constant 0.1 : f64
  %param = updraft.param stored !updraft.stochastic<bf16> : f32
  %grad = updraft.grad stored bf16 : f32
  %m = updraft.state "m" stored !updraft.stochastic<bf16> initial %a : f32
  // A value that the rule keeps is not rounded.
  %k = updraft.state "kept" stored !updraft.stochastic<bf16> initial %a : f32
  %m1 = arith.addf %m, %grad : f32
  %m2 = arith.mulf %m, %grad : f32
  updraft.next %m1, %m2, %k : f32, f32, f32
}

// The fifth value uses another word.
// CHECK-LABEL: updraft.rule @Five
// CHECK:         updraft.random 16
// CHECK-NOT:     updraft.random 16
// CHECK:         updraft.random 17
updraft.rule @Five compute f32 {
  %a = arith.constant 0.0 : f64
  %p = updraft.param stored !updraft.stochastic<bf16> : f32
  %g = updraft.grad stored f32 : f32
  %s = updraft.state "s" stored !updraft.stochastic<bf16> initial %a : f32
  %t = updraft.state "t" stored !updraft.stochastic<bf16> initial %a : f32
  %u = updraft.state "u" stored !updraft.stochastic<bf16> initial %a : f32
  %v = updraft.state "v" stored !updraft.stochastic<bf16> initial %a : f32
  %n = arith.addf %p, %g : f32
  updraft.next %n, %n, %n, %n, %n : f32, f32, f32, f32, f32
}

// CHECK-LABEL: updraft.rule @Corrected
// 0.1 is 0.10009765625 minus 51 / 256 of its last place.
// CHECK:         %[[ZERO:.*]] = arith.constant 0.000000e+00 : f64
// CHECK:         %param = updraft.param stored bf16 : f32
// CHECK:         %param_correction = updraft.state "param_correction" stored i8 initial %[[ZERO]] : f32
// CHECK:         %[[UPPER:.*]] = arith.bitcast %param : f32 to i32
// CHECK:         %[[CORRECTION:.*]] = arith.fptosi %param_correction : f32 to i32
// CHECK:         %[[SCALED:.*]] = arith.shli %[[CORRECTION]], %c8_i32 : i32
// CHECK:         %[[BITS:.*]] = arith.addi %[[UPPER]], %[[SCALED]] : i32
// CHECK:         %[[CHANGED:.*]] = arith.xori %[[BITS]], %[[UPPER]] : i32
// CHECK:         %[[CROSSED:.*]] = arith.cmpi slt, %[[CHANGED]], %c0_i32 : i32
// CHECK:         %[[SELECTED:.*]] = arith.select %[[CROSSED]], %[[UPPER]], %[[BITS]] : i32
// CHECK:         %[[PARAM:.*]] = arith.bitcast %[[SELECTED]] : i32 to f32
// CHECK-DAG:     %[[UPPER_INITIAL:.*]] = arith.constant 0.10009765625 : f64
// CHECK-DAG:     %[[INITIAL:.*]] = arith.constant -5.100000e+01 : f64
// CHECK:         %v = updraft.state "v" stored bf16 initial %[[UPPER_INITIAL]] : f32
// CHECK:         %v_correction = updraft.state "v_correction" stored i8 initial %[[INITIAL]] : f32
// CHECK:         %[[V:.*]] = arith.subf %[[PARAM]], %grad : f32
// CHECK:         %[[V_BITS:.*]] = arith.bitcast %[[V]] : f32 to i32
// CHECK:         %[[SHIFTED:.*]] = arith.shrui %[[V_BITS]], %c8_i32 : i32
// CHECK:         %[[LAST:.*]] = arith.andi %[[SHIFTED]], %c1_i32 : i32
// CHECK:         %[[HALF:.*]] = arith.addi %[[LAST]], %c127_i32 : i32
// CHECK:         %[[SUM:.*]] = arith.addi %[[V_BITS]], %[[HALF]] : i32
// CHECK:         %[[ROUNDED:.*]] = arith.andi %[[SUM]], %c-256_i32 : i32
// CHECK:         %[[NEAR:.*]] = arith.addi %[[ROUNDED]], %c32768_i32 : i32
// CHECK:         %[[NAN:.*]] = arith.cmpf uno, %[[V]], %[[V]] : f32
// CHECK:         %[[V_UPPER:.*]] = arith.andi %{{.*}}, %c-65536_i32 : i32
// CHECK:         %[[DIFFERENCE:.*]] = arith.subi %[[ROUNDED]], %[[V_UPPER]] : i32
// CHECK:         %[[REST:.*]] = arith.shrsi %[[DIFFERENCE]], %c8_i32 : i32
// CHECK:         %[[V_CORRECTION:.*]] = arith.select %[[NAN]], %c0_i32, %[[REST]] : i32
// CHECK:         %[[NEXT:.*]] = arith.bitcast %[[V_UPPER]] : i32 to f32
// CHECK:         %[[NEXT_CORRECTION:.*]] = arith.sitofp %[[V_CORRECTION]] : i32 to f32
// CHECK:         updraft.next %param, %param_correction, %[[NEXT]], %[[NEXT_CORRECTION]] : f32, f32, f32, f32
updraft.rule @Corrected compute f32 {
  %a = arith.constant 0.1 : f64
  %param = updraft.param stored !updraft.corrected<bf16> : f32
  %grad = updraft.grad stored bf16 : f32
  %v = updraft.state "v" stored !updraft.corrected<bf16> initial %a : f32
  %v1 = arith.subf %param, %grad : f32
  updraft.next %param, %v1 : f32, f32
}

// In f64 a value is rounded to f32 first.
// CHECK-LABEL: updraft.rule @Double
// CHECK:         %[[SUM:.*]] = arith.addf %{{.*}}, %grad : f64
// CHECK:         %[[SINGLE:.*]] = arith.truncf %[[SUM]] : f64 to f32
// CHECK:         arith.bitcast %[[SINGLE]] : f32 to i32
updraft.rule @Double compute f64 {
  %param = updraft.param stored !updraft.corrected<bf16> : f64
  %grad = updraft.grad stored f64 : f64
  %p1 = arith.addf %param, %grad : f64
  updraft.next %p1 : f64
}

// Nothing to expand.
// CHECK-LABEL: updraft.rule @Plain
// CHECK-NOT:     arith
// CHECK:         updraft.next %grad : f32
updraft.rule @Plain compute f32 {
  %p = updraft.param stored bf16 : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %g : f32
}
