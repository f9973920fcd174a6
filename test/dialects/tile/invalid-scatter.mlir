// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x, %n, %t = "test.op"() : () -> (tensor<100x64xf16>, tensor<16xi64>, tensor<16x8xf16>)
// expected-error@+1 {{expected elements of f32, i32 or i64 to accumulate, got f16}}
%0 = tile.scatter %t into %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] accumulate : tensor<16x8xf16>, tensor<16xi64> into tensor<100x64xf16>

// -----

%x, %n, %t = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>, tensor<16x8xf16>)
// expected-error@+1 {{expected one element type, got f16 and f32}}
%0 = tile.scatter %t into %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] : tensor<16x8xf16>, tensor<16xi64> into tensor<100x64xf32>

// -----

%x, %n, %t = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi8>, tensor<16x8xf32>)
// expected-error@+1 {{expected indices of i32 or i64, got i8}}
%0 = tile.scatter %t into %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] : tensor<16x8xf32>, tensor<16xi8> into tensor<100x64xf32>

// -----

%x, %n, %t = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>, tensor<16x8xf32>)
// expected-error@+1 {{expected an axis of the 2 of the destination, got 2}}
%0 = tile.scatter %t into %x[0, 0] axis 2 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] : tensor<16x8xf32>, tensor<16xi64> into tensor<100x64xf32>

// -----

%x, %n, %t = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>, tensor<16x8xf32>)
// expected-error@+1 {{expected a map from 2 dimensions of the source to 2 of the destination, got}}
%0 = tile.scatter %t into %x[0, 0] axis 0 at %n maps [affine_map<(d0) -> (0, d0)>, affine_map<(d0, d1) -> (d0)>] : tensor<16x8xf32>, tensor<16xi64> into tensor<100x64xf32>

// -----

%x, %n, %t = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>, tensor<16x8xf32>)
// expected-error@+1 {{expected offset 0 along axis 0, where the indices select elements}}
%0 = tile.scatter %t into %x[1, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] : tensor<16x8xf32>, tensor<16xi64> into tensor<100x64xf32>

// -----

%x, %n, %t = "test.op"() : () -> (tensor<100x64xf32>, tensor<15xi64>, tensor<16x8xf32>)
// expected-error@+1 {{indices: dimension 0 is accessed from 0 to 15, outside [0, 15)}}
%0 = tile.scatter %t into %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] : tensor<16x8xf32>, tensor<15xi64> into tensor<100x64xf32>

// -----

%i, %x, %n, %t = "test.op"() : () -> (index, tensor<100x64xf32>, tensor<16xi64>, tensor<16x8xf32>)
// Iterations that are independent may write apart from each other, and not where
// indices say.
// expected-error@+1 {{expected a destination of a parallel loop to be only written, got a use in tile.scatter}}
%0 = tile.while (%k = 0 to 3 step 1) parallel mapping(loop) into(%o = %x : tensor<100x64xf32>) {
  %1 = tile.scatter %t into %o[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] : tensor<16x8xf32>, tensor<16xi64> into tensor<100x64xf32>
  tile.yield %1 : tensor<100x64xf32>
}

// -----

%x, %n, %t = "test.op"() : () -> (tensor<100x64xf32>, tensor<16xi64>, tensor<16x8xf32>)
// expected-error@+1 {{expected `accumulate` or `combine`, got both of them}}
%0 = tile.scatter %t into %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] accumulate combine <add> : tensor<16x8xf32>, tensor<16xi64> into tensor<100x64xf32>

// -----

%x, %n, %t = "test.op"() : () -> (tensor<100x64xi8>, tensor<16xi64>, tensor<16x8xi8>)
// expected-error@+1 {{expected elements of f32, i32 or i64 to combine, got i8}}
%0 = tile.scatter %t into %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] combine <add> : tensor<16x8xi8>, tensor<16xi64> into tensor<100x64xi8>

// -----

%x, %n = "test.op"() : () -> (tensor<16x8xi64>, tensor<16xi64>)
// Iterations that combine with a tensor do not read it.
// expected-error@+1 {{expected a destination of a parallel loop to be only written, got a use in tile.scatter}}
%0 = tile.while (%k = 0 to 3 step 1) parallel mapping(loop) into(%o = %x : tensor<16x8xi64>) {
  %1 = tile.scatter %o into %o[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] combine <add> : tensor<16x8xi64>, tensor<16xi64> into tensor<16x8xi64>
  tile.yield %1 : tensor<16x8xi64>
}
