// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%r = "test.op"() : () -> memref<3x8xf32, "L2">
// expected-error@+1 {{expected a mem.window, got memref<3x8xf32, "L2">}}
%v = mem.collapse %r axis 0 : memref<3x8xf32, "L2"> to memref<24x1xf32, "L2">

// -----

%r = "test.op"() : () -> memref<5x8xf32, "L2">
%w = mem.window %r[0, 0] size [3, 8] axis 0 : memref<5x8xf32, "L2">
    to memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">
// expected-error@+1 {{expected an axis below 1, with one behind it, got 1}}
%v = mem.collapse %w axis 1
    : memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2"> to memref<24x1xf32, "L2">

// -----

%r = "test.op"() : () -> memref<5x8xf32, "L2">
%w = mem.window %r[0, 0] size [3, 7] axis 0 : memref<5x8xf32, "L2">
    to memref<3x7xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">
// expected-error@+1 {{expected all 8 elements of the ring along axis 1, got 7}}
%v = mem.collapse %w axis 0
    : memref<3x7xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2"> to memref<21x1xf32, "L2">

// -----

%r = "test.op"() : () -> memref<8x5xf32, "L2">
%w = mem.window %r[0, 0] size [8, 3] axis 1 : memref<8x5xf32, "L2">
    to memref<8x3xf32, affine_map<(d0, d1)[s0] -> (d0, (d1 + s0) mod 5)>, "L2">
// expected-error@+1 {{expected a ring that does not wrap along axis 1}}
%v = mem.collapse %w axis 0
    : memref<8x3xf32, affine_map<(d0, d1)[s0] -> (d0, (d1 + s0) mod 5)>, "L2"> to memref<24x1xf32, "L2">

// -----

%r = "test.op"() : () -> memref<5x8xf32, strided<[1, 5]>, "L2">
%w = mem.window %r[0, 0] size [3, 8] axis 0 : memref<5x8xf32, strided<[1, 5]>, "L2">
    to memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">
// expected-error@+1 {{expected rows that follow each other in memory}}
%v = mem.collapse %w axis 0
    : memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2"> to memref<24x1xf32, "L2">

// -----

%r = "test.op"() : () -> memref<5x8xf32, "L2">
%w = mem.window %r[0, 0] size [3, 8] axis 0 : memref<5x8xf32, "L2">
    to memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">
// expected-error@+1 {{expected a view memref<24x1xf32, affine_map<(d0, d1)[s0] -> ((((d0 floordiv 8) + s0) mod 5), ((d0 mod 8) + d1))>, "L2">, got memref<24x1xf32, "L2">}}
%v = mem.collapse %w axis 0
    : memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2"> to memref<24x1xf32, "L2">
