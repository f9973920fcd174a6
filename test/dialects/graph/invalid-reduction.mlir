// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected axes between 0 and 1, got 2}}
%0 = graph.reduce %x <sum> axes [2] : (tensor<4x8xf32>) -> tensor<4xf32>

// -----

%x = "test.op"() : () -> tensor<f32>
// expected-error@+1 {{expected no axes for a scalar, got 0}}
%0 = graph.reduce %x <sum> axes [0] : (tensor<f32>) -> tensor<f32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected each axis once, got [1, 1]}}
%0 = graph.reduce %x <max> axes [1, 1] : (tensor<4x8xf32>) -> tensor<4xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a result of shape 4, got 4x1}}
%0 = graph.reduce %x <max> axes [1] : (tensor<4x8xf32>) -> tensor<4x1xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xbf16>
// expected-error@+1 {{expected a result of bf16, got f32}}
%0 = graph.reduce %x <max> axes [1] : (tensor<4x8xbf16>) -> tensor<4xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected `sum`, `max`, `min`, or `prod`}}
%0 = graph.reduce %x <median> axes [1] : (tensor<4x8xf32>) -> tensor<4xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a result of shape 4x1, got 4}}
%0 = graph.mean %x axes [1] keepdims : (tensor<4x8xf32>) -> tensor<4xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xi32>
// expected-error@+1 {{expected an element type among f64, f32, f16, bf16, got i32}}
%0 = graph.mean %x axes [1] : (tensor<4x8xi32>) -> tensor<4xi32>
