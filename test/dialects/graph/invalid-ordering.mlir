// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected axes between 0 and 1, got 2}}
%0 = graph.cumulate %x <sum> axis 2 : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xbf16>
// expected-error@+1 {{expected a result of bf16, got f32}}
%0 = graph.cumulate %x <sum> axis 1 : (tensor<4x8xbf16>) -> tensor<4x8xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a result of shape 4x8, got 4}}
%0 = graph.cumulate %x <sum> axis 1 : (tensor<4x8xf32>) -> tensor<4xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected <max> or <min>, got <sum>}}
%0 = graph.arg_reduce %x <sum> axis 1 : (tensor<4x8xf32>) -> tensor<4xi64>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected an element type among i64, got i32}}
%0 = graph.arg_reduce %x <max> axis 1 : (tensor<4x8xf32>) -> tensor<4xi32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a result of shape 4x1, got 4}}
%0 = graph.arg_reduce %x <max> axis 1 keepdims : (tensor<4x8xf32>) -> tensor<4xi64>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected at most 8 elements along axis 1, got 9}}
%0:2 = graph.sort %x axis 1 : (tensor<4x8xf32>) -> (tensor<4x9xf32>, tensor<4x9xi64>)

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected results of rank 2, got 1}}
%0:2 = graph.sort %x axis 1 : (tensor<4x8xf32>) -> (tensor<8xf32>, tensor<4x8xi64>)

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a result of shape 4x3, got 4x8}}
%0:2 = graph.sort %x axis 1 : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x8xi64>)

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a result of f32, got f16}}
%0:2 = graph.sort %x axis 1 : (tensor<4x8xf32>) -> (tensor<4x8xf16>, tensor<4x8xi64>)

// -----

%x = "test.op"() : () -> tensor<4x8xi1>
// expected-error@+1 {{expected an element type among f64, f32, f16, bf16, i64, i32, i8, got i1}}
%0:2 = graph.sort %x axis 1 : (tensor<4x8xi1>) -> (tensor<4x8xi1>, tensor<4x8xi64>)
