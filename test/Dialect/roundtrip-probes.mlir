// RUN: updraft-opt %s | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -mlir-print-op-generic | updraft-opt | FileCheck %s
// RUN: updraft-opt %s -emit-bytecode | updraft-opt | FileCheck %s

// CHECK-LABEL: updraft.rule @Rule compute f32 {
// CHECK:         %[[MAX:.*]] = updraft.reduce max %grad over tensor : f32
// CHECK:         updraft.probe "largest" = %[[MAX]]
updraft.rule @Rule compute f32 {
  %0 = updraft.param stored f32 : f32
  %1 = updraft.grad stored f32 : f32
  %2 = updraft.reduce max %1 over tensor : f32
  updraft.probe "largest" = %2
  // CHECK:       updraft.probe "sizes" end 5.000000e-01 = %[[MAX]]
  // CHECK-NEXT:  updraft.probe "sizes" end 0x7FF0000000000000 = %[[MAX]]
  updraft.probe "sizes" end 0.5 = %2
  updraft.probe "sizes" end 0x7FF0000000000000 = %2
  updraft.next %0 : f32
}

// CHECK-LABEL: updraft.plan @Plan compute f32 {
// CHECK:         %[[N:.*]] = updraft.prologue
// CHECK:         updraft.probe "size" = %[[N]]
updraft.plan @Plan compute f32 {
  %0 = updraft.size over tensor
  %1 = updraft.stream "param" : !updraft.stream<f32>
  %2 = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() { updraft.yield }
  updraft.validate() messages [] { updraft.yield }
  %3 = updraft.prologue(%0) : (f64) -> f64 {
  ^bb0(%4: f64):
    updraft.yield %4 : f64
  }
  updraft.probe "size" = %3
}
