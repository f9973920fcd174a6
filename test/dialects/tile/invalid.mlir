// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x = "test.op"() : () -> tensor<100x64xf32>
// expected-error@+1 {{expected 2 offsets, one per dimension, got 1}}
%0 = tile.slice %x[0] : tensor<100x64xf32> -> tensor<16x64xf32>

// -----

%x = "test.op"() : () -> tensor<100x64xf32>
// expected-error@+1 {{expected 1 values for dynamic offsets, got 0}}
%0 = "tile.slice"(%x) <{static_offsets = array<i64: -9223372036854775808, 0>}> : (tensor<100x64xf32>) -> tensor<16x64xf32>

// -----

%x = "test.op"() : () -> tensor<100x64xf32>
// expected-error@+1 {{expected one element type, got f32 and f16}}
%0 = tile.slice %x[0, 0] : tensor<100x64xf32> -> tensor<16x64xf16>

// -----

%x = "test.op"() : () -> tensor<100x64xf32>
// expected-error@+1 {{expected tensors of one rank, got 2 and 1}}
%0 = tile.slice %x[0, 0] : tensor<100x64xf32> -> tensor<64xf32>

// -----

%x = "test.op"() : () -> tensor<100x64xf32>
// expected-error@+1 {{expected a fill value of type f32, got f64}}
%0 = tile.slice %x[0, 0] fill 0.0 : f64 : tensor<100x64xf32> -> tensor<16x64xf32>

// -----

%x = "test.op"() : () -> tensor<100x64xf32>
// expected-error@+1 {{expected valid extents within the tile [16, 64], got [17, 64]}}
%0 = tile.slice %x[0, 0] valid [17, 64] : tensor<100x64xf32> -> tensor<16x64xf32>

// -----

%x = "test.op"() : () -> tensor<100x64xf32>
// expected-error@+1 {{expected valid extents within the tile [16, 64], got [0, 64]}}
%0 = tile.slice %x[0, 0] valid [0, 64] : tensor<100x64xf32> -> tensor<16x64xf32>

// -----

%x, %t = "test.op"() : () -> (tensor<100x64xf32>, tensor<16x64xf32>)
// expected-error@+1 {{expected valid extents within the tile [16, 64], got [16]}}
%0 = tile.deslice %t into %x[0, 0] valid [16] : tensor<16x64xf32> into tensor<100x64xf32>

// -----

%x, %t = "test.op"() : () -> (tensor<100x64xf32>, tensor<16x64xf32>)
// expected-error@+1 {{expected 2 offsets, one per dimension, got 3}}
%0 = tile.deslice %t into %x[0, 0, 0] : tensor<16x64xf32> into tensor<100x64xf32>

// -----

%x, %t = "test.op"() : () -> (tensor<100x64xf32>, tensor<16x64xi32>)
// expected-error@+1 {{expected one element type, got i32 and f32}}
%0 = tile.deslice %t into %x[0, 0] : tensor<16x64xi32> into tensor<100x64xf32>

// -----

%x, %t = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xf32>)
// expected-error@+1 {{expected tensors of one rank, got 1 and 2}}
%0 = tile.deslice %t into %x[0] : tensor<16xf32> into tensor<100x64xf32>

// -----

// expected-error@+1 {{expected a memory level such as L1, got near}}
%0 = tile.empty : tensor<4xf32, #tile.encoding<near>>

// -----

// expected-error@+1 {{expected a memory level such as L1, got L0}}
%0 = tile.empty : tensor<4xf32, #tile.encoding<L0>>

// -----

// expected-error@+1 {{expected a layout that orders every axis once, got [0, 2]}}
%0 = tile.empty : tensor<4x4xf32, #tile.encoding<L1, layout = [0, 2]>>

// -----

// expected-error@+1 {{expected a memory level or a layout, got none}}
%0 = tile.empty : tensor<4x4xf32, #tile.encoding<layout = []>>

// -----

%x = "test.op"() : () -> tensor<4x4xf32, #tile.encoding<layout = [0, 2, 1]>>
// expected-error@+1 {{expected a layout of 2 axes, got [0, 2, 1]}}
%0 = graph.exp %x : tensor<4x4xf32, #tile.encoding<layout = [0, 2, 1]>>

// -----

%x = "test.op"() : () -> tensor<100x64xf32>
// expected-error@+1 {{expected a map from 2 axes of the tile to 2 of the source, got (d0, d1) -> (d0)}}
%0 = tile.slice %x[0, 0] map affine_map<(d0, d1) -> (d0)> : tensor<100x64xf32> -> tensor<16x64xf32>

// -----

%x = "test.op"() : () -> tensor<100x64xf32>
// expected-error@+1 {{expected a linear expression, got (d0 mod 2)}}
%0 = tile.slice %x[0, 0] map affine_map<(d0) -> (d0 mod 2, 0)> : tensor<100x64xf32> -> tensor<16xf32>

// -----

%x = "test.op"() : () -> tensor<100x64xf32>
// expected-error@+1 {{expected one element type, got f32 and f16}}
%0 = tile.slice %x[0, 0] map affine_map<(d0) -> (d0, 0)> : tensor<100x64xf32> -> tensor<16xf16>
