// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x, %n = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi8>)
// expected-error@+1 {{expected indices of i32 or i64, got i8}}
%0 = tile.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] : tensor<100x64xf32>, tensor<16xi8> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xf32>)
// expected-error@+1 {{expected indices of i32 or i64, got f32}}
%0 = tile.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] : tensor<100x64xf32>, tensor<16xf32> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>)
// expected-error@+1 {{expected an axis of the 2 of the source, got 2}}
%0 = tile.gather %x[0, 0] axis 2 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] : tensor<100x64xf32>, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>)
// expected-error@+1 {{expected an axis of the 2 of the source, got -1}}
%0 = tile.gather %x[0, 0] axis -1 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] : tensor<100x64xf32>, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>)
// expected-error@+1 {{expected 2 maps, of the source and of the indices, got 1}}
%0 = tile.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>] : tensor<100x64xf32>, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>)
// expected-error@+1 {{expected a map from 2 dimensions of the result to 2 of the source, got (d0, d1) -> (d1)}}
%0 = tile.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>] : tensor<100x64xf32>, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>)
// expected-error@+1 {{expected a linear expression, got (d1 mod 2)}}
%0 = tile.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1 mod 2)>, affine_map<(d0, d1) -> (d0)>] : tensor<100x64xf32>, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>)
// expected-error@+1 {{expected offset 0 along axis 0, where the indices select elements}}
%0 = tile.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] : tensor<100x64xf32>, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>)
// expected-error@+1 {{expected offset 0 along axis 0, where the indices select elements}}
%0 = tile.gather %x[1, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] : tensor<100x64xf32>, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>)
// expected-error@+1 {{indices: expected a map with 1 results, one per dimension of the operand, got (d0, d1) -> (d0, d1)}}
%0 = tile.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] : tensor<100x64xf32>, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (tensor<100x64xf32>, tensor<8xi64>)
// expected-error@+1 {{indices: dimension 0 is accessed from 0 to 15, outside [0, 8)}}
%0 = tile.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] : tensor<100x64xf32>, tensor<8xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>)
// expected-error@+1 {{expected one element type, got f32 and f16}}
%0 = tile.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] : tensor<100x64xf32>, tensor<16xi64> -> tensor<16x64xf16>

// -----

%x, %n = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>)
// expected-error@+1 {{expected 2 offsets, one per dimension, got 1}}
%0 = tile.gather %x[0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] : tensor<100x64xf32>, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>)
// expected-error@+1 {{expected a fill value of type f32, got f64}}
%0 = tile.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] fill 0.0 : f64 : tensor<100x64xf32>, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>)
// expected-error@+1 {{expected valid extents within the tile [16, 64], got [17, 64]}}
%0 = tile.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] valid [17, 64] : tensor<100x64xf32>, tensor<16xi64> -> tensor<16x64xf32>
