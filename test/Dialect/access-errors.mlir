// RUN: updraft-opt %s -split-input-file -verify-diagnostics
// Constraints of accesses to memory, by their labels.

// elementstype_c1
// expected-error @+1 {{element type is 'i1', must be f16, bf16, f32, f64, i8, i16, i32 or i64}}
func.func @bits(%e: !updraft.elements<i1>) {
  return
}

// -----

// elementstype_c1
// expected-error @+1 {{element type is 'index', must be f16, bf16, f32, f64, i8, i16, i32 or i64}}
func.func @index(%e: !updraft.elements<index>) {
  return
}

// -----

// read_c1
func.func @another_type(%e: !updraft.elements<f32>, %i: i64) {
  // expected-error @+1 {{'updraft.read' op has values of type 'vector<8xi32>', must be 'f32' or a vector of it}}
  %x = updraft.read %e[%i] : !updraft.elements<f32>, i64 -> vector<8xi32>
  return
}

// -----

// read_c1: a vector has one dimension
func.func @rank(%e: !updraft.elements<f32>, %i: i64) {
  // expected-error @+1 {{'updraft.read' op has values of type 'vector<2x4xf32>', must be 'f32' or a vector of it}}
  %x = updraft.read %e[%i] : !updraft.elements<f32>, i64 -> vector<2x4xf32>
  return
}

// -----

// read_c1: a vector has a fixed size
func.func @scalable(%e: !updraft.elements<f32>, %i: i64) {
  // expected-error @+1 {{'updraft.read' op has values of type 'vector<[4]xf32>', must be 'f32' or a vector of it}}
  %x = updraft.read %e[%i] : !updraft.elements<f32>, i64 -> vector<[4]xf32>
  return
}

// -----

// read_c2
func.func @no_index(%e: !updraft.elements<f32>) {
  // expected-error @+1 {{'updraft.read' op has no index, must have at least one}}
  %x = updraft.read %e[] : !updraft.elements<f32> -> f32
  return
}

// -----

// read_c2: of one type
func.func @widths(%e: !updraft.elements<f32>, %i: i64, %j: i32) {
  // expected-error @+1 {{'updraft.read' op has indices of different types, must be of one type}}
  %x = updraft.read %e[%i, %j] : !updraft.elements<f32>, i64, i32 -> f32
  return
}

// -----

// read_c3
func.func @lanes(%e: !updraft.elements<f32>, %i: i64, %m: vector<4xi1>) {
  // expected-error @+1 {{'updraft.read' op has values of type 'vector<8xf32>' and a mask of type 'vector<4xi1>', must have as many lanes}}
  %x = updraft.read %e[%i] mask %m : !updraft.elements<f32>, i64, vector<4xi1> -> vector<8xf32>
  return
}

// -----

// read_c3: only a vector has a mask
func.func @mask_of_one(%e: !updraft.elements<f32>, %i: i64, %m: vector<1xi1>) {
  // expected-error @+1 {{'updraft.read' op has values of type 'f32' and a mask of type 'vector<1xi1>', must have as many lanes}}
  %x = updraft.read %e[%i] mask %m : !updraft.elements<f32>, i64, vector<1xi1> -> f32
  return
}

// -----

// write_c1
func.func @write_another_type(%e: !updraft.elements<f32>, %i: i64, %x: f64) {
  // expected-error @+1 {{'updraft.write' op has values of type 'f64', must be 'f32' or a vector of it}}
  updraft.write %x, %e[%i] : f64, !updraft.elements<f32>, i64
  return
}

// -----

// write_c2
func.func @write_without_index(%e: !updraft.elements<f32>, %x: f32) {
  // expected-error @+1 {{'updraft.write' op has no index, must have at least one}}
  updraft.write %x, %e[] : f32, !updraft.elements<f32>
  return
}

// -----

// write_c3
func.func @write_lanes(%e: !updraft.elements<f32>, %i: i64, %x: vector<8xf32>, %m: vector<4xi1>) {
  // expected-error @+1 {{'updraft.write' op has values of type 'vector<8xf32>' and a mask of type 'vector<4xi1>', must have as many lanes}}
  updraft.write %x, %e[%i] mask %m : vector<8xf32>, !updraft.elements<f32>, i64, vector<4xi1>
  return
}

// -----

// prefetch_c1
func.func @prefetch_nothing(%e: !updraft.elements<f32>) {
  // expected-error @+1 {{'updraft.prefetch' op has no index, must have at least one}}
  updraft.prefetch %e[] : !updraft.elements<f32>
  return
}

// -----

// prefetch_c1: of one type
func.func @prefetch_widths(%e: !updraft.elements<f32>, %i: i64, %j: i32) {
  // expected-error @+1 {{'updraft.prefetch' op has indices of different types, must be of one type}}
  updraft.prefetch %e[%i, %j] : !updraft.elements<f32>, i64, i32
  return
}

// -----

// scratch_c1
func.func @space() {
  // expected-error @+1 {{'updraft.scratch' op is in space 1, must be in space 0}}
  %e = updraft.scratch 8 : !updraft.elements<f32, 1>
  return
}

// -----

// scratch_c2
func.func @in_a_loop(%n: i64) {
  %one = arith.constant 1 : i64
  scf.for %i = %one to %n step %one : i64 {
    // expected-error @+1 {{'updraft.scratch' op is in another operation, must be directly in a function}}
    %e = updraft.scratch 8 : !updraft.elements<f32>
  }
  return
}
