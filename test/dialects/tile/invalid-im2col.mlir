// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected one element type, got f32 and f16}}
%0 = tile.im2col %x[0, 0] map affine_map<(a, b) -> (a, b)> basis [[9], [8]] : tensor<9x8xf32> -> tensor<4x8xf16>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected 2 offsets}}
%0 = tile.im2col %x[0] map affine_map<(a, b) -> (a, b)> basis [[9], [8]] : tensor<9x8xf32> -> tensor<4x8xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected a basis of 2 lists, one for each axis of the result, got [[9, 8]]}}
%0 = tile.im2col %x[0, 0] map affine_map<(a, b) -> (a, b)> basis [[9, 8]] : tensor<9x8xf32> -> tensor<4x8xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected a linear expression, got (d0 mod 2)}}
%0 = tile.im2col %x[0, 0] map affine_map<(a, b) -> (a mod 2, b)> basis [[9], [8]] : tensor<9x8xf32> -> tensor<4x8xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected extents whose product is at most 9223372036854775807, got 18446744073709551616}}
%0 = tile.im2col %x[0] map affine_map<(a, b) -> (a, b)> basis [[4294967296, 4294967296]] : tensor<9x8xf32> -> tensor<4xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected a fill value of type f32, got f64}}
%0 = tile.im2col %x[0, 0] map affine_map<(a, b) -> (a, b)> basis [[9], [8]] fill 0.0 : f64 : tensor<9x8xf32> -> tensor<4x8xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected valid extents within the tile [4, 8], got [5, 8]}}
%0 = tile.im2col %x[0, 0] map affine_map<(a, b) -> (a, b)> basis [[9], [8]] valid [5, 8] : tensor<9x8xf32> -> tensor<4x8xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected an extent from 1 to 9223372036854775807, got -9}}
%0 = tile.im2col %x[0, 0] map affine_map<(a, b) -> (a, b)> basis [[-9], [8]] : tensor<9x8xf32> -> tensor<4x8xf32>
