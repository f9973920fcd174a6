// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{expected 3 maps, of two inputs and the result, got 2}}
%0 = graph.contract %a, %b maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k, m)>] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{expected a projected permutation, got (d0, d1, d2) -> (d0, (d1 + d2))}}
%0 = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, n + k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{expected maps from 3 dimensions, got 2}}
%0 = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n) -> (m, n)>] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{expected a map with 2 results, one per axis, got (d0, d1, d2) -> (d2)}}
%0 = graph.contract %a, %b maps [affine_map<(m, n, k) -> (k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{expected an input that uses d1, got (d0, d1, d2) -> (d0, d2) and (d0, d1, d2) -> (d2, d0)}}
%0 = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (m, n)>] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<6x4xf32>)
// expected-error@+1 {{expected one extent for d2, got 8 and 6}}
%0 = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : (tensor<4x8xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{expected a result of shape 4x4, got 4x8}}
%0 = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x8xf32>
