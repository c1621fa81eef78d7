// RUN: updraft-opt %s -updraft-schedule -split-input-file | FileCheck %s

// A norm over the group needs one more sweep, which only reads the gradient. Values that depend on
// the norm, and all writes, come after it.
// CHECK-LABEL: updraft.plan @Clipped
// CHECK:         %[[K0:.*]] = updraft.prologue(%lr) : (f64) -> f32
// CHECK:         %[[N2:.*]] = updraft.sweep reads(%grad : !updraft.stream<f32>)
// CHECK-SAME:      reduces [#updraft.reduction<sum over group>] -> f64 {
// CHECK-NEXT:    ^bb0(%[[G:.*]]: f32):
// CHECK-NEXT:      %[[W:.*]] = arith.extf %[[G]] : f32 to f64
// CHECK-NEXT:      %[[SQ:.*]] = arith.mulf %[[W]], %[[W]] : f64
// CHECK-NEXT:      updraft.store reduce(%[[SQ]])
// CHECK:         %[[K1:.*]]:2 = updraft.prologue(%max_norm, %[[N2]]) : (f64, f64) -> (f32, i1)
// CHECK:         updraft.sweep scalars(%[[K1]]#0, %[[K0]] : f32, f32)
// CHECK-SAME:      reads(%param, %grad, %m :
// CHECK-SAME:      writes(%param, %m :
// CHECK:         updraft.commit skip(%[[K1]]#1)
updraft.rule @Clipped compute f32 {
  %lr = updraft.hyper "lr" = 1.0e-3
  %max = updraft.hyper "max_norm" = 1.0
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  %w = arith.extf %g : f32 to f64
  %sq = arith.mulf %w, %w : f64
  %n2 = updraft.reduce sum %sq over group : f64
  %n = math.sqrt %n2 : f64
  %q = arith.divf %max, %n : f64
  %c = arith.truncf %q : f64 to f32
  %gc = arith.mulf %g, %c : f32
  %m1 = arith.addf %m, %gc : f32
  %k = arith.truncf %lr : f64 to f32
  %d = arith.mulf %k, %m1 : f32
  %p1 = arith.subf %p, %d : f32
  %bad = arith.cmpf uno, %n, %n : f64
  updraft.next %p1, %m1 skip(%bad) : f32, f32
}

// -----

// Both ways take two sweeps. Storing the states in the first moves 40 bytes, computing them again
// 44.
// CHECK-LABEL: updraft.plan @Trust
// CHECK:         %[[N:.*]] = updraft.sweep reads(%grad, %m, %v :
// CHECK-SAME:      writes(%m, %v : !updraft.stream<f32>, !updraft.stream<f32>)
// CHECK-SAME:      reduces [#updraft.reduction<max over tensor>] -> f64 {
// CHECK:         %[[K:.*]]:2 = updraft.prologue(%trust, %[[N]]) : (f64, f64) -> (f32, f64)
// CHECK:         updraft.sweep scalars(%[[K]]#0 : f32)
// CHECK-SAME:      reads(%param, %m, %v :
// CHECK-SAME:      writes(%param : !updraft.stream<f32>) {
// CHECK-NEXT:    ^bb0(%[[T:.*]]: f32, %[[P:.*]]: f32, %[[M:.*]]: f32, %[[V:.*]]: f32):
// CHECK-NEXT:      arith.divf %[[M]], %[[V]] : f32
// CHECK:         updraft.commit scalars(%[[K]]#1)
updraft.rule @Trust compute f32 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  %v = updraft.state "v" stored f32 initial %zero : f32
  %t = updraft.state "trust" over tensor stored f32 initial %zero : f64
  %m1 = arith.addf %m, %g : f32
  %g2 = arith.mulf %g, %g : f32
  %v1 = arith.addf %v, %g2 : f32
  %u = arith.divf %m1, %v1 : f32
  %un = updraft.reduce max %u over tensor : f32
  %t1 = arith.mulf %t, %un : f64
  %k = arith.truncf %t1 : f64 to f32
  %d = arith.mulf %k, %u : f32
  %p1 = arith.subf %p, %d : f32
  updraft.next %p1, %m1, %v1, %t1 : f32, f32, f32, f64
}

// -----

// A state with a less precise type than its computation would be rounded when it is read back.
// CHECK-LABEL: updraft.plan @Rounded
// CHECK:         updraft.sweep reads(%grad, %m :
// CHECK-NOT:       writes
// CHECK-SAME:      reduces
// CHECK:         updraft.sweep {{.*}} reads(%param, %grad, %m :
// CHECK-SAME:      writes(%param, %m :
updraft.rule @Rounded compute f32 {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored bf16 initial %zero : f32
  %m1 = arith.addf %m, %g : f32
  %n = updraft.reduce sum %m1 over tensor : f32
  %k = arith.truncf %n : f64 to f32
  %d = arith.mulf %k, %m1 : f32
  %p1 = arith.subf %p, %d : f32
  updraft.next %p1, %m1 : f32, f32
}

// -----

// Rows and columns are computed once, before the elements that use them, and their states are
// stored there. A sweep over rows for a sum also computes values that elements need later.
// CHECK-LABEL: updraft.plan @Factored_matrix compute f32 matrix {
// CHECK:         %[[RC:.*]]:2 = updraft.sweep reads(%grad : !updraft.stream<f32>)
// CHECK-SAME:      reduces [#updraft.reduction<sum over row>, #updraft.reduction<sum over column>]
// CHECK-SAME:      -> !updraft.stream<f64, row>, !updraft.stream<f64, column>
// CHECK:         %[[R1:.*]]:2 = updraft.sweep over row reads(%row_var, %[[RC]]#0 :
// CHECK-SAME:      writes(%row_var :
// CHECK-SAME:      reduces [#updraft.reduction<sum over tensor>] -> f64, !updraft.stream<f32, row>
// CHECK:         %[[K:.*]] = updraft.prologue(%[[R1]]#0) : (f64) -> f32
// CHECK:         %[[C1:.*]] = updraft.sweep over column reads(%col_var, %[[RC]]#1 :
// CHECK-SAME:      writes(%col_var :
// CHECK-SAME:      -> !updraft.stream<f32, column>
// CHECK:         updraft.sweep scalars(%[[K]] : f32) reads(%param, %grad, %[[R1]]#1, %[[C1]] :
// CHECK-SAME:      writes(%param :
// CHECK-NOT:     updraft.sweep
updraft.rule @Factored_matrix compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %r = updraft.state "row_var" over row stored f32 initial %zero : f32
  %c = updraft.state "col_var" over column stored f32 initial %zero : f32
  %g2 = arith.mulf %g, %g : f32
  %rs = updraft.reduce sum %g2 over row : f32
  %cs = updraft.reduce sum %g2 over column : f32
  %rm = arith.truncf %rs : f64 to f32
  %cm = arith.truncf %cs : f64 to f32
  %r1 = arith.addf %r, %rm : f32
  %c1 = arith.addf %c, %cm : f32
  %rsum = updraft.reduce sum %r1 over tensor : f32
  %scale = arith.truncf %rsum : f64 to f32
  %var0 = arith.mulf %r1, %c1 : f32
  %var = arith.divf %var0, %scale : f32
  %root = math.sqrt %var : f32
  %u = arith.divf %g, %root : f32
  %p1 = arith.subf %p, %u : f32
  updraft.next %p1, %r1, %c1 : f32, f32, f32
}

// -----

// A scalar waits for a reduction over its own input: nothing is written before it has been read.
// CHECK-LABEL: updraft.plan @Waits
// CHECK:         %[[C:.*]] = updraft.sweep reads(%m :
// CHECK-SAME:      reduces [#updraft.reduction<max over column>]
// CHECK-NOT:     writes
// CHECK:         %[[N:.*]] = updraft.sweep over column reads(%[[C]] :
// CHECK-SAME:      reduces [#updraft.reduction<sum over group>]
// CHECK:         updraft.sweep reads(%grad : {{.*}}) writes(%param, %m :
updraft.rule @Waits compute f64 matrix {
  %one = arith.constant 1.0 : f64
  %p = updraft.param stored f64 : f64
  %g = updraft.grad stored f64 : f64
  %m = updraft.state "m" stored f64 initial %one : f64
  %n = updraft.state "n" over tensor stored f64 initial %one : f64
  %largest = updraft.reduce max %m over column : f64
  %sum = updraft.reduce sum %largest over group : f64
  updraft.next %g, %g, %sum : f64, f64, f64
}

// -----

// A value that a sweep gets from one prologue is computed again in a later prologue, from the rule's
// inputs.
// CHECK-LABEL: updraft.plan @Shared
// CHECK:         %[[LR:.*]] = updraft.hyper "lr"
// CHECK:         updraft.prologue(%[[LR]]) : (f64) -> f64
// CHECK:         %[[S:.*]] = updraft.sweep
// CHECK:         updraft.prologue(%[[LR]], %[[S]]) : (f64, f64) -> f64
updraft.rule @Shared compute f64 {
  %lr = updraft.hyper "lr" = 0.5
  %p = updraft.param stored f64 : f64
  %g = updraft.grad stored f64 : f64
  %d = arith.mulf %g, %lr : f64
  %s = updraft.reduce sum %d over tensor : f64
  %k = arith.divf %lr, %s : f64
  %n = arith.subf %p, %k : f64
  updraft.next %n : f64
}

// -----

// A condition per row is computed again for each element that uses it, because memory holds only
// floats.
// CHECK-LABEL: updraft.plan @Limited_matrix
// CHECK:         updraft.sweep reads(%grad : !updraft.stream<f32>)
// CHECK-SAME:      reduces [#updraft.reduction<sum over row>]
// CHECK:         updraft.sweep over row
// CHECK-NOT:       i1
// CHECK:         updraft.sweep scalars(
// CHECK:           arith.cmpf ogt
// CHECK-NEXT:      arith.select
updraft.rule @Limited_matrix compute f32 matrix {
  %limit = updraft.hyper "limit" = 1.0
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %s = updraft.reduce sum %g over row : f32
  %r = arith.truncf %s : f64 to f32
  %l = arith.truncf %limit : f64 to f32
  %above = arith.cmpf ogt, %r, %l : f32
  %chosen = arith.select %above, %p, %g : f32
  %p1 = arith.subf %p, %chosen : f32
  updraft.next %p1 : f32
}

// -----

// Values of batches: the sweep over rows that has the values sums them, and columns compute them
// where needed. Elements get them from a sweep over batches.
// CHECK-LABEL: updraft.plan @Batches_matrix
// CHECK:         %[[RC:.*]]:2 = updraft.sweep reads(%grad :
// CHECK:         %[[B:.*]] = updraft.sweep over row reads(%[[RC]]#0 :
// CHECK-SAME:      reduces [#updraft.reduction<sum over batch>] -> !updraft.stream<f64, batch>
// CHECK:         %[[H:.*]] = updraft.sweep over batch reads(%[[B]] :
// CHECK-SAME:      -> !updraft.stream<f32, batch>
// CHECK:         %[[C:.*]] = updraft.sweep over column reads(%[[RC]]#1, %[[B]] :
// CHECK-SAME:      -> !updraft.stream<f32, column>
// CHECK:         updraft.sweep reads(%param, %[[H]], %[[C]] :
updraft.rule @Batches_matrix compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %r = updraft.reduce sum %g over row : f32
  %c = updraft.reduce sum %g over column : f32
  %b = updraft.reduce sum %r over batch : f64
  %b32 = arith.truncf %b : f64 to f32
  %half = arith.constant 0.5 : f32
  %h = arith.mulf %b32, %half : f32
  %c32 = arith.truncf %c : f64 to f32
  %cb = arith.divf %c32, %b32 : f32
  %hp = arith.mulf %p, %h : f32
  %p1 = arith.addf %hp, %cb : f32
  updraft.next %p1 : f32
}

// -----

// A sum over the tensor uses all rows in order, and a sum over a batch the batch's rows: two
// sweeps.
// CHECK-LABEL: updraft.plan @Split_matrix
// CHECK:         %[[R:.*]] = updraft.sweep reads(%grad :
// CHECK:         %[[B:.*]]:2 = updraft.sweep over row reads(%[[R]] :
// CHECK-SAME:      reduces [#updraft.reduction<sum over batch>]
// CHECK-SAME:      -> !updraft.stream<f64, batch>, !updraft.stream<f32, row>
// CHECK:         %[[S:.*]] = updraft.sweep over row reads(%[[B]]#1 :
// CHECK-SAME:      reduces [#updraft.reduction<sum over tensor>] -> f64
updraft.rule @Split_matrix compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %r = updraft.reduce sum %g over row : f32
  %r32 = arith.truncf %r : f64 to f32
  %q = arith.mulf %r32, %r32 : f32
  %b = updraft.reduce sum %r over batch : f64
  %s = updraft.reduce sum %q over tensor : f32
  %b32 = arith.truncf %b : f64 to f32
  %s32 = arith.truncf %s : f64 to f32
  %k = arith.mulf %b32, %s32 : f32
  %p1 = arith.addf %p, %k : f32
  updraft.next %p1 : f32
}

// -----

// The elements need the value of the state over rows from before the step.
// CHECK-LABEL: updraft.plan @Old_matrix
// CHECK:         updraft.sweep over row reads(%rs
// CHECK-NOT:     writes
// CHECK:         updraft.sweep {{.*}}writes(%param :
// CHECK:         updraft.sweep over row {{.*}}writes(%rs :
updraft.rule @Old_matrix compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %rs = updraft.state "rs" over row stored f32 initial %zero : f32
  %r = updraft.reduce sum %g over row : f32
  %r32 = arith.truncf %r : f64 to f32
  %r1 = arith.addf %rs, %r32 : f32
  %d = arith.mulf %r1, %g : f32
  %e = arith.addf %d, %rs : f32
  %p1 = arith.subf %p, %e : f32
  updraft.next %p1, %r1 : f32, f32
}
