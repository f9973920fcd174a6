// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%a, %b = "test.op"() : () -> (tensor<4x?xf32>, tensor<4x8xf32>)
// expected-error@+1 {{expected a static shape, got tensor<4x?xf32>}}
%0 = graph.add %a, %b : (tensor<4x?xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

%a = "test.op"() : () -> tensor<4x0xf32>
// expected-error@+1 {{expected extents of at least 1, got tensor<4x0xf32>}}
%0 = graph.exp %a : tensor<4x0xf32>

// -----

%a = "test.op"() : () -> tensor<4xf80>
// expected-error@+1 {{expected an element type among f64, f32, f16, bf16, i64, i32, i8, i1, got f80}}
%0 = graph.exp %a : tensor<4xf80>

// -----

%a = "test.op"() : () -> f32
// expected-error@+1 {{expected a tensor, got f32}}
%0 = graph.exp %a : f32

// -----

%a = "test.op"() : () -> tensor<4xi32>
// expected-error@+1 {{expected elements of f64, f32, f16, bf16, got i32}}
%0 = graph.exp %a : tensor<4xi32>

// -----

%a = "test.op"() : () -> tensor<4xi1>
// expected-error@+1 {{expected elements of f64, f32, f16, bf16, i64, i32, i8, got i1}}
%0 = graph.sub %a, %a : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<4x8xf16>)
// expected-error@+1 {{expected operands of one element type, got f32 and f16}}
%0 = graph.mul %a, %b : (tensor<4x8xf32>, tensor<4x8xf16>) -> tensor<4x8xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<4x6xf32>)
// expected-error@+1 {{expected shapes that broadcast, got 4x8 and 4x6}}
%0 = graph.div %a, %b : (tensor<4x8xf32>, tensor<4x6xf32>) -> tensor<4x8xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8xf32>)
// expected-error@+1 {{expected a result of shape 4x8, got 8}}
%0 = graph.maximum %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<8xf32>

// -----

%a = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{expected a result of f32, got f16}}
%0 = graph.tanh %a : (tensor<4xf32>) -> tensor<4xf16>

// -----

%a = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{expected a result of shape 4, got 8}}
%0 = graph.cast %a : (tensor<4xf32>) -> tensor<8xf16>

// -----

%a = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{expected a ratio between 0 and 1, got 1.5}}
%0 = graph.dropout %a ratio 1.5 : tensor<4xf32>

// -----

%a = "test.op"() : () -> tensor<4xi64>
// expected-error@+1 {{expected low to be at most 3, got 4}}
%0 = graph.within %a low 4 high 3 : tensor<4xi64>

// -----

%a = "test.op"() : () -> tensor<4xi1>
// expected-error@+1 {{expected elements of f64, f32, f16, bf16, i64, i32, i8, got i1}}
%0 = graph.rem %a, %a : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
