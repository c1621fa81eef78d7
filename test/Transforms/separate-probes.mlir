// RUN: updraft-opt %s -updraft-separate-probes -split-input-file | FileCheck %s
// RUN: updraft-opt %s -updraft-separate-probes=only-unprobed -split-input-file | FileCheck %s --check-prefix=ONLY

// ONLY-NOT: _probed
// ONLY-NOT: updraft.probe

// CHECK-LABEL: updraft.rule @R compute f32 {
// CHECK-NOT:     updraft.probe
// CHECK:         updraft.next
// CHECK-LABEL: updraft.rule @R_probed compute f32 {
// CHECK:         %[[MAX:.*]] = updraft.reduce max %grad over tensor : f32
// CHECK-NEXT:    updraft.probe "largest" = %[[MAX]]
// CHECK-NEXT:    updraft.next
updraft.rule @R compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %m = updraft.reduce max %g over tensor : f32
  updraft.probe "largest" = %m
  updraft.next %p : f32
}

// -----

// A rule without probes stays alone.
// CHECK-LABEL: updraft.rule @Plain compute f32 {
// CHECK-NOT:   updraft.rule
updraft.rule @Plain compute f32 {
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  updraft.next %g : f32
}

// -----

// All forms are separated together, and the names of forms follow the name of the first.
// CHECK-LABEL: updraft.variants vectors {
// CHECK:         updraft.rule @F compute f32 {
// CHECK-NOT:     updraft.probe
// CHECK:         updraft.rule @F_matrix compute f32 matrix {
// CHECK-NOT:     updraft.probe
// CHECK:       updraft.variants vectors {
// CHECK:         updraft.rule @F_probed compute f32 {
// CHECK:           updraft.probe "size"
// CHECK:         updraft.rule @F_probed_matrix compute f32 matrix {
// CHECK:           updraft.probe "size"
updraft.variants vectors {
  updraft.rule @F compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    %n = updraft.size over tensor
    updraft.probe "size" = %n
    updraft.next %p : f32
  }
} matrices {
  updraft.rule @F_matrix compute f32 matrix {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    %n = updraft.size over tensor
    updraft.probe "size" = %n
    updraft.next %p : f32
  }
}
