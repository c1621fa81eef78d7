// bf16 in memory is i16, converted by integer arithmetic: never by `arith.truncf`.
// RUN: updraft-opt %s --convert-updraft-plan-to-loops="vector-bits=128" | FileCheck %s

updraft.plan @Widen compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%g : !updraft.stream<bf16>) writes(%p : !updraft.stream<f32>) {
  ^bb0(%x: f32):
    updraft.store %x : f32
  }
}


// CHECK-LABEL: func.func @Widen_sweep0
// CHECK:         scf.for
// CHECK:           %[[X:.*]] = updraft.read %{{.*}}[%{{.*}}] : !updraft.elements<i16>, i64 -> vector<4xi16>
// CHECK:           %[[EXT:.*]] = arith.extui %[[X]] : vector<4xi16> to vector<4xi32>
// CHECK:           %[[SIXTEEN:.*]] = arith.constant dense<16> : vector<4xi32>
// CHECK:           %[[SHIFTED:.*]] = arith.shli %[[EXT]], %[[SIXTEEN]] : vector<4xi32>
// CHECK:           %[[F:.*]] = arith.bitcast %[[SHIFTED]] : vector<4xi32> to vector<4xf32>
// CHECK:           updraft.write %[[F]], %{{.*}}[%{{.*}}] : vector<4xf32>, !updraft.elements<f32>, i64

updraft.plan @Mixed compute f32 {
  %p = updraft.stream "param" : !updraft.stream<bf16>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%g : !updraft.stream<f32>) writes(%p : !updraft.stream<bf16>) {
  ^bb0(%x: f32):
    updraft.store %x : f32
  }
}


// CHECK-LABEL: func.func @Mixed_sweep0
// CHECK-NOT:     bf16
// CHECK:         scf.for
// CHECK:           %[[F:.*]] = updraft.read %{{.*}}[%{{.*}}] : !updraft.elements<f32>, i64 -> vector<4xf32>
// CHECK:           %[[BITS:.*]] = arith.bitcast %[[F]] : vector<4xf32> to vector<4xi32>
// CHECK:           %[[UPPER:.*]] = arith.shrui %[[BITS]]
// CHECK:           arith.constant dense<1> : vector<4xi32>
// CHECK:           %[[LAST:.*]] = arith.andi %[[UPPER]]
// CHECK:           arith.constant dense<32767> : vector<4xi32>
// CHECK:           %[[HALF:.*]] = arith.addi %[[LAST]]
// CHECK:           %[[ROUNDED:.*]] = arith.addi %[[BITS]], %[[HALF]]
// CHECK:           arith.constant dense<4194304> : vector<4xi32>
// CHECK:           %[[QUIET:.*]] = arith.ori %[[BITS]]
// CHECK:           %[[NAN:.*]] = arith.cmpf uno, %[[F]], %[[F]] : vector<4xf32>
// CHECK:           %[[RESULT:.*]] = arith.select %[[NAN]], %[[QUIET]], %[[ROUNDED]]
// CHECK:           %[[SHIFTED:.*]] = arith.shrui %[[RESULT]]
// CHECK:           %[[STORED:.*]] = arith.trunci %[[SHIFTED]] : vector<4xi32> to vector<4xi16>
// CHECK:           updraft.write %[[STORED]], %{{.*}}[%{{.*}}] : vector<4xi16>, !updraft.elements<i16>, i64

updraft.plan @Copy compute f32 {
  %p = updraft.stream "param" : !updraft.stream<bf16>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%g : !updraft.stream<bf16>) writes(%p : !updraft.stream<bf16>) {
  ^bb0(%x: f32):
    updraft.store %x : f32
  }
}


// If every stream is bf16, a vector of twice the lanes is split into even and odd elements. NaNs of
// bf16 have no lower half from which rounding could carry.
// CHECK-LABEL: func.func @Copy_sweep0
// CHECK-NOT:     bf16
// CHECK:         scf.for
// CHECK:           %[[X:.*]] = updraft.read %{{.*}}[%{{.*}}] : !updraft.elements<i16>, i64 -> vector<8xi16>
// CHECK:           %[[WORDS:.*]] = vector.bitcast %[[X]] : vector<8xi16> to vector<4xi32>
// CHECK:           %[[EVEN_BITS:.*]] = arith.shli %[[WORDS]]
// CHECK:           arith.constant dense<-65536> : vector<4xi32>
// CHECK:           %[[ODD_BITS:.*]] = arith.andi %[[WORDS]]
// CHECK:           %[[EVEN:.*]] = arith.bitcast %[[EVEN_BITS]] : vector<4xi32> to vector<4xf32>
// CHECK:           %[[ODD:.*]] = arith.bitcast %[[ODD_BITS]] : vector<4xi32> to vector<4xf32>
// CHECK-NOT:       arith.cmpf
// CHECK:           %[[UPPER:.*]] = vector.bitcast %{{.*}} : vector<4xi32> to vector<8xi16>
// CHECK:           %[[LOWER:.*]] = vector.bitcast %{{.*}} : vector<4xi32> to vector<8xi16>
// CHECK:           %[[EVEN_UPPER:.*]] = arith.andi %{{.*}} : vector<8xi16>
// CHECK:           %[[REST:.*]] = llvm.intr.usub.sat(%[[LOWER]], %[[EVEN_UPPER]])
// CHECK:           %[[CARRY:.*]] = arith.shrui %[[REST]]
// CHECK:           %[[STORED:.*]] = arith.addi %[[UPPER]], %[[CARRY]] : vector<8xi16>
// CHECK:           updraft.write %[[STORED]], %{{.*}}[%{{.*}}] : vector<8xi16>, !updraft.elements<i16>, i64
// CHECK:         scf.if
// CHECK:           %[[MASK:.*]] = arith.cmpi ult, %{{.*}} : vector<8xi32>
// CHECK:           updraft.read %{{.*}}[%{{.*}}] mask %[[MASK]] : !updraft.elements<i16>, i64, vector<8xi1> -> vector<8xi16>
// CHECK:           updraft.write %{{.*}}, %{{.*}}[%{{.*}}] mask %[[MASK]] : vector<8xi16>, !updraft.elements<i16>, i64, vector<8xi1>

updraft.plan @Scaled compute f32 {
  %h = updraft.hyper "h" = 1.0
  %p = updraft.stream "param" : !updraft.stream<bf16>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %k:2 = updraft.prologue(%h) : (f64) -> (f32, i1) {
  ^bb0(%v: f64):
    %rounded = arith.truncf %v : f64 to f32
    %zero = arith.constant 0.0 : f64
    %positive = arith.cmpf ogt, %v, %zero : f64
    updraft.yield %rounded, %positive : f32, i1
  }
  updraft.sweep scalars(%k#0, %k#1 : f32, i1) reads(%g : !updraft.stream<bf16>)
      writes(%p : !updraft.stream<bf16>) {
  ^bb0(%s: f32, %c: i1, %x: f32):
    %y = arith.mulf %x, %s : f32
    %z = arith.select %c, %y, %x : f32
    updraft.store %z : f32
  }
}

// The prologue clears the lower half of a NaN scalar, so the sweep doesn't check for NaNs.
// CHECK-LABEL: func.func @Scaled_prologue0
// CHECK:         %[[S:.*]] = arith.truncf %{{.*}} : f64 to f32
// CHECK:         %[[BITS:.*]] = arith.bitcast %[[S]] : f32 to i32
// CHECK:         %[[NAN:.*]] = arith.cmpf uno, %[[S]], %[[S]] : f32
// CHECK:         %[[QUIET:.*]] = arith.constant 2143289344 : i32
// CHECK:         %[[EITHER:.*]] = arith.select %[[NAN]], %[[QUIET]], %[[BITS]] : i32
// CHECK:         %[[SCALAR:.*]] = arith.bitcast %[[EITHER]] : i32 to f32
// CHECK:         llvm.store %[[SCALAR]]
// CHECK-LABEL: func.func @Scaled_sweep0
// CHECK-NOT:     arith.cmpf uno
// CHECK:         return

updraft.plan @LongNaN compute f32 {
  %p = updraft.stream "param" : !updraft.stream<bf16>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%g : !updraft.stream<bf16>) writes(%p : !updraft.stream<bf16>) {
  ^bb0(%x: f32):
    %n = arith.constant 0x7FC00001 : f32
    %y = arith.maximumf %x, %n : f32
    updraft.store %y : f32
  }
}

// With a NaN constant that has a lower half, the loop checks for NaNs.
// CHECK-LABEL: func.func @LongNaN_sweep0
// CHECK:         scf.for
// CHECK:           arith.cmpf uno
// CHECK:           updraft.write %{{.*}}, %{{.*}}[%{{.*}}] : vector<8xi16>, !updraft.elements<i16>, i64

updraft.plan @FromF64 compute f64 {
  %p = updraft.stream "param" : !updraft.stream<bf16>
  %g = updraft.stream "grad" : !updraft.stream<f64>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%g : !updraft.stream<f64>) writes(%p : !updraft.stream<bf16>) {
  ^bb0(%x: f64):
    updraft.store %x : f64
  }
}

// From f64 through an f32 that is rounded to odd.
// CHECK-LABEL: func.func @FromF64_sweep0
// CHECK:         scf.for
// CHECK:           %[[X:.*]] = updraft.read %{{.*}}[%{{.*}}] : !updraft.elements<f64>, i64 -> vector<2xf64>
// CHECK:           %[[NEAREST:.*]] = arith.truncf %[[X]] : vector<2xf64> to vector<2xf32>
// CHECK:           %[[BACK:.*]] = arith.extf %[[NEAREST]] : vector<2xf32> to vector<2xf64>
// CHECK:           arith.cmpf one, %[[BACK]], %[[X]] : vector<2xf64>
// CHECK:           arith.cmpf ogt, %[[BACK]], %[[X]] : vector<2xf64>
// CHECK:           %[[ODD:.*]] = arith.bitcast %{{.*}} : vector<2xi32> to vector<2xf32>
// CHECK:           arith.bitcast %[[ODD]] : vector<2xf32> to vector<2xi32>
// CHECK:           updraft.write %{{.*}}, %{{.*}}[%{{.*}}] : vector<2xi16>, !updraft.elements<i16>, i64
