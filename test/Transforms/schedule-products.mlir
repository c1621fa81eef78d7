// RUN: updraft-opt %s -updraft-schedule -split-input-file | FileCheck %s

// Products run before the sweeps of their stage. A sweep keeps the operands that aren't in memory,
// and later sweeps read them, and results of products, as streams.
// CHECK-LABEL: updraft.plan @Kept
// CHECK:         %[[X:.*]] = updraft.sweep reads(%param, %grad :
// CHECK-SAME:      -> !updraft.stream<f32> {
// CHECK:           %[[SUM:.*]] = arith.addf
// CHECK-NEXT:      updraft.store make(%[[SUM]] : f32)
// CHECK:         %[[A:.*]] = updraft.multiply symmetric %[[X]], %[[X]] transposed : <f32>, <f32> -> <f32, rows_by_rows>
// CHECK-NEXT:    %[[B:.*]] = updraft.multiply symmetric %[[A]], %[[A]] :
// CHECK-NEXT:    %[[C:.*]] = updraft.sweep over rows_by_rows reads(%[[A]], %[[B]] :
// CHECK-SAME:      -> !updraft.stream<f32, rows_by_rows> {
// CHECK:         %[[D:.*]] = updraft.multiply %[[C]], %[[X]] : <f32, rows_by_rows>, <f32> -> <f32>
// CHECK-NEXT:    updraft.sweep reads(%[[X]], %[[D]] :
// CHECK-SAME:      writes(%param : !updraft.stream<f32>) {
updraft.rule @Kept compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %x = arith.addf %grad, %param : f32
  %t = updraft.transpose %x : f32
  %a = updraft.product symmetric %x, %t : f32
  %b = updraft.product symmetric %a, %a : f32
  %c = arith.addf %a, %b : f32
  %d = updraft.product %c, %x : f32
  %e = arith.addf %x, %d : f32
  updraft.next %e : f32
}

// -----

// A product reads the gradient and a state in memory, and bf16 of the parameter as f32 that a sweep
// converts.
// CHECK-LABEL: updraft.plan @Converted
// CHECK:         %[[P:.*]] = updraft.sweep reads(%param : !updraft.stream<bf16>) -> !updraft.stream<f32> {
// CHECK-NEXT:    ^bb0(%[[ELEMENT:.*]]: f32):
// CHECK-NEXT:      updraft.store make(%[[ELEMENT]] : f32)
// CHECK:         %[[A:.*]] = updraft.multiply %grad, %[[P]] transposed :
// CHECK-NEXT:    %[[B:.*]] = updraft.multiply %[[A]], %m :
// CHECK-NEXT:    updraft.sweep reads(%param, %[[B]] : !updraft.stream<bf16>, !updraft.stream<f32>)
// CHECK-SAME:      writes(%param, %m :
updraft.rule @Converted compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored bf16 : f32
  %grad = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  %t = updraft.transpose %param : f32
  %a = updraft.product %grad, %t : f32
  %b = updraft.product %a, %m : f32
  %c = arith.subf %param, %b : f32
  updraft.next %c, %b : f32, f32
}

// -----

// The sweep that reduces the new state also stores it, so the next one reads it and keeps the operand
// of the product.
// CHECK-LABEL: updraft.plan @Early
// CHECK:         %[[N:.*]] = updraft.sweep reads(%grad, %m : !updraft.stream<f32>, !updraft.stream<f32>)
// CHECK-SAME:      writes(%m : !updraft.stream<f32>) reduces
// CHECK:         %[[K:.*]] = updraft.prologue(%[[N]])
// CHECK:         %[[X:.*]] = updraft.sweep scalars(%[[K]] : f32) reads(%m :
// CHECK-SAME:      -> !updraft.stream<f32> {
// CHECK:         %[[A:.*]] = updraft.multiply symmetric %[[X]], %[[X]] transposed :
// CHECK-NEXT:    %[[B:.*]] = updraft.multiply %[[A]], %[[X]] :
// CHECK-NEXT:    updraft.sweep reads(%param, %[[B]] :
// CHECK-SAME:      writes(%param :
updraft.rule @Early compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  %m1 = arith.addf %m, %grad : f32
  %n = updraft.reduce sum %m1 over tensor : f32
  %k = arith.truncf %n : f64 to f32
  %x = arith.divf %m1, %k : f32
  %t = updraft.transpose %x : f32
  %a = updraft.product symmetric %x, %t : f32
  %b = updraft.product %a, %x : f32
  %c = arith.subf %param, %b : f32
  updraft.next %c, %m1 : f32, f32
}

// -----

// A later product reads the state from before the step, so it is stored by the last sweep.
// CHECK-LABEL: updraft.plan @Late
// CHECK:         %[[X:.*]] = updraft.sweep reads(%grad, %m :
// CHECK-NOT:       writes
// CHECK-SAME:      -> !updraft.stream<f32> {
// CHECK:         %[[A:.*]] = updraft.multiply symmetric %[[X]], %[[X]] transposed :
// CHECK-NEXT:    %[[B:.*]] = updraft.multiply %[[A]], %m :
// CHECK-NEXT:    updraft.sweep reads(%param, %[[X]], %[[B]] :
// CHECK-SAME:      writes(%param, %m :
updraft.rule @Late compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %m = updraft.state "m" stored f32 initial %zero : f32
  %m1 = arith.addf %m, %grad : f32
  %t = updraft.transpose %m1 : f32
  %a = updraft.product symmetric %m1, %t : f32
  %b = updraft.product %a, %m : f32
  %c = arith.subf %param, %b : f32
  updraft.next %c, %m1 : f32, f32
}

// -----

// Products wait for the scalars of their operands, and reductions for products.
// CHECK-LABEL: updraft.plan @Normalized
// CHECK:         %[[N:.*]] = updraft.sweep reads(%grad : !updraft.stream<f32>) reduces [#updraft.reduction<sum over tensor>]
// CHECK:         %[[K:.*]] = updraft.prologue(%[[N]])
// CHECK:         %[[X:.*]] = updraft.sweep scalars(%[[K]] : f32) reads(%grad : !updraft.stream<f32>) -> !updraft.stream<f32> {
// CHECK:         %[[A:.*]] = updraft.multiply symmetric %[[X]], %[[X]] transposed :
// CHECK:         %[[R:.*]]:2 = updraft.sweep over rows_by_rows reads(%[[A]] :
// CHECK-SAME:      reduces [#updraft.reduction<max over row>, #updraft.reduction<sum over tensor>]
// CHECK:         %[[S:.*]] = updraft.prologue(%[[R]]#1)
// CHECK:         %[[ROWS:.*]] = updraft.sweep over row reads(%[[R]]#0 :
// CHECK:         updraft.sweep scalars(%[[S]] : f32) reads(%[[X]], %[[ROWS]] :
// CHECK-SAME:      writes(%param :
updraft.rule @Normalized compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %n = updraft.reduce sum %grad over tensor : f32
  %k = arith.truncf %n : f64 to f32
  %x = arith.divf %grad, %k : f32
  %t = updraft.transpose %x : f32
  %a = updraft.product symmetric %x, %t : f32
  %r = updraft.reduce max %a over row : f32
  %r32 = arith.truncf %r : f64 to f32
  %s = updraft.reduce sum %a over tensor : f32
  %s32 = arith.truncf %s : f64 to f32
  %c = arith.mulf %x, %r32 : f32
  %d = arith.mulf %c, %s32 : f32
  updraft.next %d : f32
}

// -----

// Products and operands that no result needs are not computed.
// CHECK-LABEL: updraft.plan @Unused
// CHECK-NOT:     updraft.multiply
updraft.rule @Unused compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %x = arith.addf %grad, %param : f32
  %t = updraft.transpose %x : f32
  %a = updraft.product symmetric %x, %t : f32
  updraft.next %x : f32
}

// -----

// Each form has a plan of its own, for the same shapes.
// CHECK-LABEL: updraft.plan @Forms_wide compute f32 matrix shapes wide {
// CHECK:         updraft.multiply symmetric %grad, %grad transposed : <f32>, <f32> -> <f32, rows_by_rows>
// CHECK-LABEL: updraft.plan @Forms_wide_square_tall compute f32 matrix shapes square|tall {
// CHECK:         updraft.multiply symmetric %grad transposed, %grad : <f32>, <f32> -> <f32, columns_by_columns>
updraft.variants vectors {} matrices {
  updraft.rule @Forms_wide compute f32 matrix shapes wide {
    %param = updraft.param stored f32 : f32
    %grad = updraft.grad stored f32 : f32
    %t = updraft.transpose %grad : f32
    %a = updraft.product symmetric %grad, %t : f32
    %y = updraft.product %a, %grad : f32
    updraft.next %y : f32
  }
  updraft.rule @Forms_wide_square_tall compute f32 matrix shapes square|tall {
    %param = updraft.param stored f32 : f32
    %grad = updraft.grad stored f32 : f32
    %t = updraft.transpose %grad : f32
    %a = updraft.product symmetric %t, %grad : f32
    %y = updraft.product %grad, %a : f32
    updraft.next %y : f32
  }
}

// -----

// Products read states of square matrices where they are. The sweep over the matrices of a state
// stores its next value, which the next product reads there.
// CHECK-LABEL: updraft.plan @Squares
// CHECK:         %l = updraft.stream "l" : <f32, rows_by_rows>
// CHECK:         %r = updraft.stream "r" : <f32, columns_by_columns>
// CHECK:         %[[OLD:.*]] = updraft.multiply %grad, %r : <f32>, <f32, columns_by_columns> -> <f32>
// CHECK-NEXT:    %[[GRAM:.*]] = updraft.multiply symmetric %[[OLD]], %[[OLD]] transposed :
// CHECK-NEXT:    updraft.sweep over rows_by_rows reads(%l, %[[GRAM]] :
// CHECK-SAME:      writes(%l : !updraft.stream<f32, rows_by_rows>) {
// CHECK:         %[[Y:.*]] = updraft.multiply %l, %[[OLD]] : <f32, rows_by_rows>, <f32> -> <f32>
// CHECK-NEXT:    updraft.sweep reads(%param, %[[Y]] :
// CHECK-SAME:      writes(%param :
updraft.rule @Squares compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %l = updraft.state "l" over rows_by_rows stored f32 initial %zero : f32
  %r = updraft.state "r" over columns_by_columns stored f32 initial %zero : f32
  %old = updraft.product %grad, %r : f32
  %t = updraft.transpose %old : f32
  %gram = updraft.product symmetric %old, %t : f32
  %l1 = arith.addf %l, %gram : f32
  %y = updraft.product %l1, %old : f32
  %c = arith.subf %param, %y : f32
  updraft.next %c, %l1, %r : f32, f32, f32
}

// -----

// Operands are rounded in fast rules that compute f32.
// CHECK-LABEL: updraft.plan @Rounded compute f32 matrix fast
// CHECK:         %[[A:.*]] = updraft.multiply bf16 symmetric %grad, %grad transposed :
// CHECK:         updraft.multiply f16 %[[A]], %grad :
updraft.rule @Rounded compute f32 matrix fast {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %t = updraft.transpose %grad : f32
  %a = updraft.product bf16 symmetric %grad, %t : f32
  %b = updraft.product f16 %a, %grad : f32
  updraft.next %b : f32
}

// -----

// CHECK-LABEL: updraft.plan @Exact compute f32 matrix
// CHECK-NOT:     f16
updraft.rule @Exact compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %t = updraft.transpose %grad : f32
  %a = updraft.product bf16 symmetric %grad, %t : f32
  %b = updraft.product %a, %grad : f32
  updraft.next %b : f32
}

// -----

// CHECK-LABEL: updraft.plan @Double compute f64 matrix fast
// CHECK-NOT:     f16
updraft.rule @Double compute f64 matrix fast {
  %param = updraft.param stored f64 : f64
  %grad = updraft.grad stored f64 : f64
  %t = updraft.transpose %grad : f64
  %a = updraft.product bf16 symmetric %grad, %t : f64
  %b = updraft.product f16 %a, %grad : f64
  updraft.next %b : f64
}

// -----

// Operands that are made of different products come from different sweeps, so that the first one
// isn't in memory until the second can be made.
// CHECK-LABEL: updraft.plan @Separate
// CHECK:         %[[A:.*]] = updraft.multiply %grad, %grad transposed
// CHECK:         %[[B:.*]] = updraft.multiply %param, %param transposed
// CHECK:         %[[HALF:.*]] = updraft.sweep over rows_by_rows reads(%[[A]] : {{.*}}) -> !updraft.stream<f32, rows_by_rows> {
// CHECK:         %[[TWICE:.*]] = updraft.sweep over rows_by_rows reads(%[[B]] : {{.*}}) -> !updraft.stream<f32, rows_by_rows> {
// CHECK:         updraft.multiply %[[HALF]], %grad
// CHECK:         updraft.multiply %[[TWICE]], %grad
updraft.rule @Separate compute f32 matrix {
  %half = arith.constant 0.5 : f32
  %two = arith.constant 2.0 : f32
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %gt = updraft.transpose %grad : f32
  %pt = updraft.transpose %param : f32
  %a = updraft.product %grad, %gt : f32
  %b = updraft.product %param, %pt : f32
  %ah = arith.mulf %a, %half : f32
  %bt = arith.mulf %b, %two : f32
  %u = updraft.product %ah, %grad : f32
  %v = updraft.product %bt, %grad : f32
  %w = arith.addf %u, %v : f32
  updraft.next %w : f32
}

// -----

// The sweep that reduces a value of three products keeps it. The next one reads one matrix.
// CHECK-LABEL: updraft.plan @KeptForTheNextSweep
// CHECK:         %[[SUM:.*]]:2 = updraft.sweep reads({{%[^,]*, %[^,]*, %[^,]*}} :
// CHECK-SAME:      reduces [#updraft.reduction<max over tensor>] -> f64, !updraft.stream<f32> {
// CHECK:         %[[U:.*]] = updraft.sweep scalars({{.*}}) reads(%[[SUM]]#1 :
// CHECK:         updraft.multiply %{{.*}}, %[[U]]
updraft.rule @KeptForTheNextSweep compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %t = updraft.transpose %grad : f32
  %gram = updraft.product symmetric %grad, %t : f32
  %a = updraft.product %gram, %grad : f32
  %b = updraft.product %gram, %a : f32
  %c = updraft.product %gram, %b : f32
  %ab = arith.addf %a, %b : f32
  %abc = arith.addf %ab, %c : f32
  %w = arith.extf %abc : f32 to f64
  %max = updraft.reduce max %w over tensor : f64
  %scale = arith.truncf %max : f64 to f32
  %u = arith.divf %abc, %scale : f32
  %v = updraft.product %gram, %u : f32
  %p1 = arith.subf %param, %v : f32
  updraft.next %p1 : f32
}

// -----

// Both sweeps compute a value of two products: keeping it would write as much as it saves.
// CHECK-LABEL: updraft.plan @ComputedAgain
// CHECK:         updraft.sweep reads(%[[A:.*]], %[[B:.*]] :
// CHECK-SAME:      reduces [#updraft.reduction<max over tensor>] -> f64 {
// CHECK:         updraft.sweep scalars({{.*}}) reads(%[[A]], %[[B]] :
updraft.rule @ComputedAgain compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %t = updraft.transpose %grad : f32
  %gram = updraft.product symmetric %grad, %t : f32
  %a = updraft.product %gram, %grad : f32
  %b = updraft.product %gram, %a : f32
  %ab = arith.addf %a, %b : f32
  %w = arith.extf %ab : f32 to f64
  %max = updraft.reduce max %w over tensor : f64
  %scale = arith.truncf %max : f64 to f32
  %u = arith.divf %ab, %scale : f32
  %v = updraft.product %gram, %u : f32
  %p1 = arith.subf %param, %v : f32
  updraft.next %p1 : f32
}

// -----

// Numbers of different matrices come from different sweeps over batches.
// CHECK-LABEL: updraft.plan @Batches
// CHECK:         %[[L:.*]] = updraft.multiply symmetric %grad, %grad transposed
// CHECK:         %[[R:.*]] = updraft.multiply symmetric %grad transposed, %grad
// CHECK:         updraft.sweep over batch reads(%{{[^,]*}} : !updraft.stream<f64, batch>) -> !updraft.stream<f32, batch> {
// CHECK:         updraft.sweep over batch reads(%{{[^,]*}} : !updraft.stream<f64, batch>) -> !updraft.stream<f32, batch> {
// CHECK-NOT:     updraft.sweep over batch
updraft.rule @Batches compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %t = updraft.transpose %grad : f32
  %l = updraft.product symmetric %grad, %t : f32
  %r = updraft.product symmetric %t, %grad : f32
  %lw = arith.extf %l : f32 to f64
  %rw = arith.extf %r : f32 to f64
  %lrows = updraft.reduce max %lw over row : f64
  %rcolumns = updraft.reduce max %rw over column : f64
  %lmax = updraft.reduce max %lrows over batch : f64
  %rmax = updraft.reduce max %rcolumns over batch : f64
  %lk = arith.truncf %lmax : f64 to f32
  %rk = arith.truncf %rmax : f64 to f32
  %ls = arith.divf %l, %lk : f32
  %rs = arith.divf %r, %rk : f32
  %y = updraft.product %ls, %grad : f32
  %z = updraft.product %y, %rs : f32
  %p1 = arith.subf %param, %z : f32
  updraft.next %p1 : f32
}
