// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%r = "test.op"() : () -> memref<5x8xf32, "L2">
// expected-error@+1 {{expected 2 offsets, one per dimension, got 1}}
%w = mem.window %r[0] size [3, 8] axis 0 : memref<5x8xf32, "L2">
    to memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">

// -----

%r = "test.op"() : () -> memref<5x8xf32, "L2">
// expected-error@+1 {{expected positive sizes, got [0, 8]}}
%w = mem.window %r[0, 0] size [0, 8] axis 0 : memref<5x8xf32, "L2">
    to memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">

// -----

%r = "test.op"() : () -> memref<5x8xf32, "L2">
// expected-error@+1 {{expected an axis below 2, got 2}}
%w = mem.window %r[0, 0] size [3, 8] axis 2 : memref<5x8xf32, "L2">
    to memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">

// -----

%r = "test.op"() : () -> memref<5x8xf32, "L2">
// expected-error@+1 {{expected at most the 5 slices of the ring, got 6}}
%w = mem.window %r[0, 0] size [6, 8] axis 0 : memref<5x8xf32, "L2">
    to memref<6x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">

// -----

%r = "test.op"() : () -> memref<5x8xf32, "L2">
// expected-error@+1 {{expected a box inside of [5, 8] but for axis 0, got 7 from 2 on along axis 1}}
%w = mem.window %r[9, 2] size [3, 7] axis 0 : memref<5x8xf32, "L2">
    to memref<3x7xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">

// -----

%r = "test.op"() : () -> memref<5x8xf32, "L2">
// expected-error@+1 {{expected a view memref<3x8xf32, affine_map<(d0, d1)[s0] -> (((d0 + s0) mod 5), d1)>, "L2">, got memref<3x8xf32, "L2">}}
%w = mem.window %r[0, 0] size [3, 8] axis 0 : memref<5x8xf32, "L2"> to memref<3x8xf32, "L2">

// -----

%r = "test.op"() : () -> memref<5x8xf32>
// expected-error@+1 {{expected a memory level such as "L2" in memref<5x8xf32>}}
%w = mem.window %r[0, 0] size [3, 8] axis 0 : memref<5x8xf32>
    to memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>>

// -----

%v = "test.op"() : () -> memref<3xf32, affine_map<(d0)[s0] -> ((d0 + s0) mod 5)>, "L2">
// expected-error@+1 {{expected a buffer that does not wrap, got memref<3xf32, affine_map<(d0)[s0] -> (((d0 + s0) mod 5))>, "L2">}}
%w = mem.window %v[0] size [2] axis 0
    : memref<3xf32, affine_map<(d0)[s0] -> ((d0 + s0) mod 5)>, "L2">
    to memref<2xf32, affine_map<(d0)[s0] -> ((d0 + s0) mod 3)>, "L2">

// -----

// Only moves know what wraps.
%w = "test.op"() : () -> memref<3xf32, affine_map<(d0)[s0] -> ((d0 + s0) mod 5)>, "L1">
// expected-error@+1 {{expected a buffer that does not wrap}}
mem.fill 0.0 into %w : memref<3xf32, affine_map<(d0)[s0] -> ((d0 + s0) mod 5)>, "L1">

// -----

%w = "test.op"() : () -> memref<3xf32, affine_map<(d0)[s0] -> ((d0 + s0) mod 5)>, "L1">
// expected-error@+1 {{expected a buffer that does not wrap}}
mem.mask %w at [0] bounds [2] fill 0.0
    : memref<3xf32, affine_map<(d0)[s0] -> ((d0 + s0) mod 5)>, "L1">

// -----

%v = "test.op"() : () -> memref<3xf32, "L1">
%w = "test.op"() : () -> memref<3xf32, affine_map<(d0)[s0] -> ((d0 + s0) mod 5)>, "L1">
// expected-error@+1 {{expected a buffer that does not wrap}}
mem.map ins(%w : memref<3xf32, affine_map<(d0)[s0] -> ((d0 + s0) mod 5)>, "L1">)
    outs(%v : memref<3xf32, "L1">) domain [3]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
^bb0(%a: f32):
  mem.yield %a : f32
}

// -----

%w = "test.op"() : () -> memref<3xf32, affine_map<(d0)[s0] -> ((d0 + s0) mod 5)>, "L3">
// expected-error@+1 {{expected a buffer that does not wrap}}
%v = mem.load %w[0] size [3]
    : memref<3xf32, affine_map<(d0)[s0] -> ((d0 + s0) mod 5)>, "L3"> -> tensor<3xf32>

// -----

%v = "test.op"() : () -> tensor<3xf32>
%w = "test.op"() : () -> memref<3xf32, affine_map<(d0)[s0] -> ((d0 + s0) mod 5)>, "L3">
// expected-error@+1 {{expected a buffer that does not wrap}}
mem.store %v to %w[0]
    : tensor<3xf32> to memref<3xf32, affine_map<(d0)[s0] -> ((d0 + s0) mod 5)>, "L3">
