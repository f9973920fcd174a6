// RUN: tlf-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected a fill value of type i32, got f32}}
%0 = tile.fill 0.0 : f32 : tensor<16xi32>

// -----

%t = "test.op"() : () -> tensor<16x64xf32>
// expected-error@+1 {{expected 2 offsets, one per dimension, got 1}}
%0 = tile.mask %t[0] bounds [100, 64] fill 0.0 : f32 : tensor<16x64xf32>

// -----

%t = "test.op"() : () -> tensor<16x64xf32>
// expected-error@+1 {{expected 2 bounds, one per axis, got 1}}
%0 = tile.mask %t[0, 0] bounds [100] fill 0.0 : f32 : tensor<16x64xf32>

// -----

%t = "test.op"() : () -> tensor<16x64xf32>
// expected-error@+1 {{expected a fill value of type f32, got i32}}
%0 = tile.mask %t[0, 0] bounds [100, 64] fill 0 : i32 : tensor<16x64xf32>

// -----

%t = "test.op"() : () -> tensor<16x64xf32>
// expected-error@+1 {{expected valid extents within the tile [16, 64], got [16, 65]}}
%0 = tile.mask %t[0, 0] bounds [100, 64] valid [16, 65] fill 0.0 : f32 : tensor<16x64xf32>

// -----

%w, %n = "test.op"() : () -> (tensor<4x8xf32>, tensor<2x8xf16>)
// expected-error@+1 {{expected one element type, got f32 and f16}}
%0 = tile.roll %w, %n axis 0 : tensor<4x8xf32>, tensor<2x8xf16>

// -----

%w, %n = "test.op"() : () -> (tensor<4x8xf32>, tensor<8xf32>)
// expected-error@+1 {{expected tensors of one rank, got 2 and 1}}
%0 = tile.roll %w, %n axis 0 : tensor<4x8xf32>, tensor<8xf32>

// -----

%w, %n = "test.op"() : () -> (tensor<4x8xf32>, tensor<2x8xf32>)
// expected-error@+1 {{expected an axis below 2, got 2}}
%0 = tile.roll %w, %n axis 2 : tensor<4x8xf32>, tensor<2x8xf32>

// -----

%w, %n = "test.op"() : () -> (tensor<4x8xf32>, tensor<5x8xf32>)
// expected-error@+1 {{expected the next slices to fit the window tensor<4x8xf32>, got tensor<5x8xf32>}}
%0 = tile.roll %w, %n axis 0 : tensor<4x8xf32>, tensor<5x8xf32>

// -----

%w, %n = "test.op"() : () -> (tensor<4x8xf32>, tensor<2x7xf32>)
// expected-error@+1 {{expected the next slices to fit the window tensor<4x8xf32>, got tensor<2x7xf32>}}
%0 = tile.roll %w, %n axis 0 : tensor<4x8xf32>, tensor<2x7xf32>
