// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x, %w = "test.op"() : () -> (tensor<30xf32>, tensor<15xf32>)
// expected-error@+1 {{expected 3 maps, of two inputs and the result, got 2}}
%0 = graph.linear_contract %x, %w domain [4, 7, 9] maps [affine_map<(b, j, u) -> (b * 7 + u)>, affine_map<(b, j, u) -> (u - j + 6)>] : (tensor<30xf32>, tensor<15xf32>) -> tensor<28xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<30xf32>, tensor<15xf32>)
// expected-error@+1 {{expected positive extents, got [4, 0, 9]}}
%0 = graph.linear_contract %x, %w domain [4, 0, 9] maps [affine_map<(b, j, u) -> (b * 7 + u)>, affine_map<(b, j, u) -> (u - j + 6)>, affine_map<(b, j, u) -> (b * 7 + j)>] : (tensor<30xf32>, tensor<15xf32>) -> tensor<28xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<29xf32>, tensor<15xf32>)
// expected-error@+1 {{lhs: dimension 0 is accessed from 0 to 29, outside [0, 29)}}
%0 = graph.linear_contract %x, %w domain [4, 7, 9] maps [affine_map<(b, j, u) -> (b * 7 + u)>, affine_map<(b, j, u) -> (u - j + 6)>, affine_map<(b, j, u) -> (b * 7 + j)>] : (tensor<29xf32>, tensor<15xf32>) -> tensor<28xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<30xf32>, tensor<15xf32>)
// expected-error@+1 {{rhs: dimension 0 is accessed from -1 to 13, outside [0, 15)}}
%0 = graph.linear_contract %x, %w domain [4, 7, 9] maps [affine_map<(b, j, u) -> (b * 7 + u)>, affine_map<(b, j, u) -> (u - j + 5)>, affine_map<(b, j, u) -> (b * 7 + j)>] : (tensor<30xf32>, tensor<15xf32>) -> tensor<28xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<30xf32>, tensor<15xf32>)
// expected-error@+1 {{expected every element of the result once, got (d0, d1, d2) -> (((d0 * 6) + d1)) over [4, 7, 9]}}
%0 = graph.linear_contract %x, %w domain [4, 7, 9] maps [affine_map<(b, j, u) -> (b * 7 + u)>, affine_map<(b, j, u) -> (u - j + 6)>, affine_map<(b, j, u) -> (b * 6 + j)>] : (tensor<30xf32>, tensor<15xf32>) -> tensor<28xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<30xf32>, tensor<15xf32>)
// expected-error@+1 {{expected a result of shape 28, got 29}}
%0 = graph.linear_contract %x, %w domain [4, 7, 9] maps [affine_map<(b, j, u) -> (b * 7 + u)>, affine_map<(b, j, u) -> (u - j + 6)>, affine_map<(b, j, u) -> (b * 7 + j)>] : (tensor<30xf32>, tensor<15xf32>) -> tensor<29xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<30xf32>, tensor<15xf32>)
// expected-error@+1 {{expected a dimension once in (d0, d1, d2) -> (d1, d1)}}
%0 = graph.linear_contract %x, %w domain [4, 7, 9] maps [affine_map<(b, j, u) -> (b * 7 + u)>, affine_map<(b, j, u) -> (u - j + 6)>, affine_map<(b, j, u) -> (j, j)>] : (tensor<30xf32>, tensor<15xf32>) -> tensor<7x7xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<30xf32>, tensor<15xf32>)
// expected-error@+1 {{expected an input that uses d0, got (d0, d1, d2) -> (d2) and (d0, d1, d2) -> (d1)}}
%0 = graph.linear_contract %x, %w domain [4, 7, 9] maps [affine_map<(b, j, u) -> (u)>, affine_map<(b, j, u) -> (j)>, affine_map<(b, j, u) -> (b * 7 + j)>] : (tensor<30xf32>, tensor<15xf32>) -> tensor<28xf32>
