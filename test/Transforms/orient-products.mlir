// RUN: updraft-opt %s -updraft-orient-products -split-input-file | FileCheck %s

// A rule that computes with the transposed gradient, as for tall matrices. Afterwards it computes
// with the gradient, and the transposes that remain are operands of products.
// CHECK-LABEL: updraft.rule @Tall
// CHECK:         %[[T:.*]] = updraft.transpose %grad : f32
// CHECK-NEXT:    %[[GRAM:.*]] = updraft.product symmetric %[[T]], %grad : f32
// CHECK-NEXT:    %[[P:.*]] = updraft.product %grad, %[[GRAM]] : f32
// CHECK-NEXT:    %[[S:.*]] = arith.addf %grad, %[[P]] : f32
// CHECK-NEXT:    updraft.next %[[S]] : f32
updraft.rule @Tall compute f32 matrix shapes tall {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %x = updraft.transpose %grad : f32
  %t = updraft.transpose %x : f32
  %gram = updraft.product %x, %t : f32
  %y = updraft.product %gram, %x : f32
  %s = arith.addf %x, %y : f32
  %r = updraft.transpose %s : f32
  updraft.next %r : f32
}

// -----

// Products are symmetric if they are of a matrix and its transpose, or of a symmetric matrix and
// itself. Arithmetic on symmetric matrices and scalars is symmetric. A product of two symmetric
// matrices isn't, and neither is one with values of rows.
// CHECK-LABEL: updraft.rule @Symmetric
// CHECK:         %[[T:.*]] = updraft.transpose %grad
// CHECK:         %[[A:.*]] = updraft.product symmetric %grad, %[[T]]
// CHECK:         %[[B:.*]] = updraft.product symmetric %[[A]], %[[A]]
// CHECK:         %[[C:.*]] = updraft.product %[[A]], %[[B]]
// CHECK:         %[[D:.*]] = arith.mulf %[[B]], %{{.*}}
// CHECK:         %[[E:.*]] = arith.addf %[[A]], %[[D]]
// CHECK:         %[[F:.*]] = updraft.product symmetric %[[E]], %[[E]]
// CHECK:         %[[G:.*]] = arith.mulf %[[E]], %{{.*}}
// CHECK:         %[[H:.*]] = updraft.product %[[G]], %[[G]]
// CHECK:         %[[I:.*]] = updraft.product symmetric %[[T]], %grad
// CHECK:         %[[J:.*]] = updraft.product symmetric %[[A]], %[[F]]
updraft.rule @Symmetric compute f32 matrix {
  %lr = updraft.hyper "lr" = 1.0e-3
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %t = updraft.transpose %grad : f32
  %n = updraft.reduce sum %grad over row : f32
  %r = arith.truncf %n : f64 to f32
  %k = arith.truncf %lr : f64 to f32
  %a = updraft.product %grad, %t : f32
  %b = updraft.product %a, %a : f32
  %c = updraft.product %a, %b : f32
  %d = arith.mulf %b, %k : f32
  %e = arith.addf %a, %d : f32
  %f = updraft.product %e, %e : f32
  %g = arith.mulf %e, %r : f32
  %h = updraft.product %g, %g : f32
  %i = updraft.product %t, %grad : f32
  %j = updraft.product symmetric %a, %f : f32
  %x0 = arith.addf %c, %h : f32
  %x1 = arith.addf %x0, %j : f32
  %x2 = updraft.product %x1, %grad : f32
  %x3 = updraft.product %x2, %i : f32
  updraft.next %x3 : f32
}

// -----

// The transpose of a symmetric matrix is the matrix.
// CHECK-LABEL: updraft.rule @OfSymmetric
// CHECK:         %[[A:.*]] = updraft.product symmetric %grad, %{{.*}}
// CHECK-NEXT:    %[[Y:.*]] = updraft.product %[[A]], %grad
// CHECK-NEXT:    updraft.next %[[Y]]
updraft.rule @OfSymmetric compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %t = updraft.transpose %grad : f32
  %a = updraft.product %grad, %t : f32
  %at = updraft.transpose %a : f32
  %y = updraft.product %at, %grad : f32
  updraft.next %y : f32
}

// -----

// A product of transposed matrices is the transpose of the product of the others.
// CHECK-LABEL: updraft.rule @OfTransposed
// CHECK:         %[[T:.*]] = updraft.transpose %grad
// CHECK:         %[[A:.*]] = updraft.product %[[T]], %param
// CHECK:         %[[AT:.*]] = updraft.transpose %[[A]]
// CHECK:         %[[B:.*]] = updraft.product %grad, %[[AT]]
// CHECK:         updraft.next %[[B]]
updraft.rule @OfTransposed compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %t = updraft.transpose %grad : f32
  %a = updraft.product %t, %param : f32
  %b = updraft.product %a, %t : f32
  %y = updraft.transpose %b : f32
  updraft.next %y : f32
}

// -----

// Arithmetic can't read a matrix with rows and columns exchanged. The product is computed again
// with its operands exchanged.
// CHECK-LABEL: updraft.rule @Elementwise
// CHECK-DAG:     %[[PT:.*]] = updraft.transpose %param
// CHECK-DAG:     %[[GT:.*]] = updraft.transpose %grad
// CHECK-DAG:     %[[A:.*]] = updraft.product %grad, %[[PT]]
// CHECK-DAG:     %[[B:.*]] = updraft.product %param, %[[GT]]
// CHECK:         %[[S:.*]] = arith.addf %[[A]], %[[B]]
// CHECK:         %[[Y:.*]] = updraft.product %[[S]], %grad
updraft.rule @Elementwise compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %t = updraft.transpose %param : f32
  %a = updraft.product %grad, %t : f32
  %at = updraft.transpose %a : f32
  %s = arith.addf %a, %at : f32
  %y = updraft.product %s, %grad : f32
  updraft.next %y : f32
}

// -----

// A random number belongs to an element of the parameter. Its transpose is read by a product.
// CHECK-LABEL: updraft.rule @Random
// CHECK:         %[[R:.*]] = arith.sitofp
// CHECK:         %[[RT:.*]] = updraft.transpose %[[R]]
// CHECK:         updraft.product %grad, %[[RT]]
updraft.rule @Random compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %i = updraft.random 0
  %r = arith.sitofp %i : i64 to f32
  %t = updraft.transpose %r : f32
  %a = updraft.product %grad, %t : f32
  %y = updraft.product %a, %grad : f32
  updraft.next %y : f32
}

// -----

// Both forms of a rule, also without one for vectors.
// CHECK-LABEL: updraft.rule @Forms_wide
// CHECK:         updraft.product symmetric
// CHECK-LABEL: updraft.rule @Forms_wide_square_tall
// CHECK:         updraft.product symmetric
updraft.variants vectors {} matrices {
  updraft.rule @Forms_wide compute f32 matrix shapes wide {
    %param = updraft.param stored f32 : f32
    %grad = updraft.grad stored f32 : f32
    %t = updraft.transpose %grad : f32
    %a = updraft.product %grad, %t : f32
    %y = updraft.product %a, %grad : f32
    updraft.next %y : f32
  }
  updraft.rule @Forms_wide_square_tall compute f32 matrix shapes square|tall {
    %param = updraft.param stored f32 : f32
    %grad = updraft.grad stored f32 : f32
    %t = updraft.transpose %grad : f32
    %a = updraft.product %t, %grad : f32
    %y = updraft.product %grad, %a : f32
    updraft.next %y : f32
  }
}

// -----

// Arithmetic needs the transpose of a state, so it is made in memory. A product reads the state.
// CHECK-LABEL: updraft.rule @Turned
// CHECK:         %[[MADE:.*]] = updraft.apply transpose(%q) : (f32) -> f32
// CHECK-NEXT:    %[[READ:.*]] = updraft.transpose %q : f32
// CHECK-NEXT:    %[[S:.*]] = arith.subf %[[MADE]], %q : f32
// CHECK-NEXT:    %[[Y:.*]] = updraft.product %[[READ]], %grad : f32
// CHECK-NEXT:    updraft.next %[[Y]], %[[S]] : f32, f32
updraft.rule @Turned compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %t = updraft.transpose %q : f32
  %s = arith.subf %t, %q : f32
  %y = updraft.product %t, %grad : f32
  updraft.next %y, %s : f32, f32
}

// -----

// So is the transpose of a matrix that was computed with values of its rows.
// CHECK-LABEL: updraft.rule @Scaled
// CHECK:         %[[A:.*]] = updraft.product %grad, %{{.*}} : f32
// CHECK:         %[[B:.*]] = arith.mulf %[[A]], %{{.*}} : f32
// CHECK-NEXT:    %[[BT:.*]] = updraft.apply transpose(%[[B]]) : (f32) -> f32
// CHECK-NEXT:    %[[S:.*]] = arith.addf %[[A]], %[[BT]] : f32
// CHECK-NEXT:    updraft.product %[[S]], %grad : f32
updraft.rule @Scaled compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %t = updraft.transpose %param : f32
  %a = updraft.product %grad, %t : f32
  %n = updraft.reduce sum %a over row : f32
  %r = arith.truncf %n : f64 to f32
  %b = arith.mulf %a, %r : f32
  %bt = updraft.transpose %b : f32
  %s = arith.addf %a, %bt : f32
  %y = updraft.product %s, %grad : f32
  updraft.next %y : f32
}

// -----

// A function reads a transposed matrix from memory. Its result has no other transpose.
// CHECK-LABEL: updraft.rule @Applied
// CHECK:         %[[QT:.*]] = updraft.apply transpose(%q)
// CHECK-NEXT:    %[[E:.*]] = updraft.apply qr(%[[QT]])
// CHECK-NEXT:    %[[ET:.*]] = updraft.apply transpose(%[[E]])
// CHECK-NEXT:    %[[S:.*]] = arith.addf %[[E]], %[[ET]]
// CHECK-NEXT:    updraft.next %param, %[[S]]
updraft.rule @Applied compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %q = updraft.state "q" over rows_by_rows stored f32 initial %zero : f32
  %t = updraft.transpose %q : f32
  %e = updraft.apply qr(%t) : (f32) -> f32
  %et = updraft.transpose %e : f32
  %s = arith.addf %e, %et : f32
  updraft.next %param, %s : f32, f32
}

// -----

// No transpose is made for a function of a product: the product is computed with its operands
// exchanged. Nor for one of a symmetric matrix.
// CHECK-LABEL: updraft.rule @OfProducts
// CHECK-NOT:     apply transpose
// CHECK:         %[[AT:.*]] = updraft.product %param, %{{.*}}
// CHECK-NEXT:    %[[Q:.*]] = updraft.apply qr(%[[AT]])
// CHECK-NEXT:    %[[B:.*]] = updraft.product symmetric %grad, %{{.*}}
// CHECK-NEXT:    %[[L:.*]] = updraft.apply cholesky(%[[B]])
// CHECK-NEXT:    updraft.product %[[Q]], %[[L]]
updraft.rule @OfProducts compute f32 matrix {
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %pt = updraft.transpose %param : f32
  %gt = updraft.transpose %grad : f32
  %a = updraft.product %grad, %pt : f32
  %at = updraft.transpose %a : f32
  %q = updraft.apply qr(%at) : (f32) -> f32
  %b = updraft.product %grad, %gt : f32
  %bt = updraft.transpose %b : f32
  %l = updraft.apply cholesky(%bt) : (f32) -> f32
  %ql = updraft.product %q, %l : f32
  %y = updraft.product %ql, %grad : f32
  updraft.next %y : f32
}

// -----

// A function of a product stays as it is where the rule computes with the transposed parameter.
// CHECK-LABEL: updraft.rule @OfTall
// CHECK:         %[[QT:.*]] = updraft.transpose %q
// CHECK:         %[[P:.*]] = updraft.product %grad, %[[QT]]
// CHECK:         %[[S:.*]] = updraft.apply solve_lower(%q, %q)
// CHECK:         %[[ST:.*]] = updraft.transpose %[[S]]
// CHECK:         %[[U:.*]] = updraft.product %[[P]], %[[ST]]
// CHECK:         updraft.next %[[U]], %q
updraft.rule @OfTall compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %q = updraft.state "q" over columns_by_columns stored f32 initial %zero : f32
  %x = updraft.transpose %grad : f32
  %p = updraft.product %q, %x : f32
  %s = updraft.apply solve_lower(%q, %q) : (f32, f32) -> f32
  %u = updraft.product %s, %p : f32
  %ut = updraft.transpose %u : f32
  updraft.next %ut, %q : f32, f32
}

// -----

// A value for each place of the transpose is one for each place of the matrix.
// CHECK-LABEL: updraft.rule @Broadcast
// CHECK:         %[[ONES:.*]] = updraft.broadcast %{{.*}} over element : f32
// CHECK:         %[[T:.*]] = updraft.transpose %[[ONES]] : f32
// CHECK:         updraft.product %{{.*}}, %[[T]] : f32
updraft.rule @Broadcast compute f32 matrix {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %one = arith.constant 1.0 : f32
  %ones = updraft.broadcast %one over transposed : f32
  %square = updraft.product %g, %ones : f32
  %next = updraft.product %square, %p : f32
  updraft.next %next : f32
}
