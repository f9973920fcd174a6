// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x = "test.op"() : () -> memref<9x8xf32, "L3">
// expected-error@+1 {{cannot move elements of type f16 to or from a buffer of f32}}
%0 = mem.im2col %x[0, 0] map affine_map<(a, b) -> (a, b)> basis [[9], [8]] size [4, 8] : memref<9x8xf32, "L3"> -> tensor<4x8xf16>

// -----

%x = "test.op"() : () -> memref<9x8xf32, "L3">
// expected-error@+1 {{expected 2 offsets, one per dimension, got 1}}
%0 = mem.im2col %x[0] map affine_map<(a, b) -> (a, b)> basis [[9], [8]] size [4, 8] : memref<9x8xf32, "L3"> -> tensor<4x8xf32>

// -----

%x = "test.op"() : () -> memref<9x8xf32, "L3">
// expected-error@+1 {{expected a map from 2 digits to 2 axes, got (d0) -> (d0, 0)}}
%0 = mem.im2col %x[0, 0] map affine_map<(a) -> (a, 0)> basis [[9], [8]] size [4, 8] : memref<9x8xf32, "L3"> -> tensor<4x8xf32>

// -----

%x = "test.op"() : () -> memref<9x8xf32, "L3">
// expected-error@+1 {{expected a value of at least shape [5, 8], the size of the box, got tensor<4x8xf32>}}
%0 = mem.im2col %x[0, 0] map affine_map<(a, b) -> (a, b)> basis [[9], [8]] size [5, 8] : memref<9x8xf32, "L3"> -> tensor<4x8xf32>

// -----

%x = "test.op"() : () -> memref<9x8xf32, "L3">
// expected-error@+1 {{expected 2 sizes, one per dimension, got 1}}
%0 = mem.im2col %x[0, 0] map affine_map<(a, b) -> (a, b)> basis [[9], [8]] size [4] : memref<9x8xf32, "L3"> -> tensor<4x8xf32>

// -----

%x = "test.op"() : () -> memref<9x8xf32, "L3">
// expected-error@+1 {{expected a value of element type f32, got 0 : i64}}
%0 = mem.im2col %x[0, 0] map affine_map<(a, b) -> (a, b)> basis [[9], [8]] size [4, 8] fill 0 : memref<9x8xf32, "L3"> -> tensor<4x8xf32>

// -----

%x = "test.op"() : () -> memref<9x8xf32>
// expected-error@+1 {{expected a memory level such as "L2" in memref<9x8xf32>}}
%0 = mem.im2col %x[0, 0] map affine_map<(a, b) -> (a, b)> basis [[9], [8]] size [4, 8] : memref<9x8xf32> -> tensor<4x8xf32>
