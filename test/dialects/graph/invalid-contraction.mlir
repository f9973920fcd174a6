// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<6x4xf32>)
// expected-error@+1 {{expected an rhs with 8 rows, one per column of the lhs, got 6}}
%0 = graph.matmul %a, %b : (tensor<4x8xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{expected operands of rank 2 or more, got 8 and 8x4}}
%0 = graph.matmul %a, %b : (tensor<8xf32>, tensor<8x4xf32>) -> tensor<4xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<2x4x8xf32>, tensor<3x8x4xf32>)
// expected-error@+1 {{expected shapes that broadcast, got 2 and 3}}
%0 = graph.matmul %a, %b : (tensor<2x4x8xf32>, tensor<3x8x4xf32>) -> tensor<2x4x4xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{expected a result of shape 4x4, got 8x8}}
%0 = graph.matmul %a, %b : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf16>)
// expected-error@+1 {{expected operands of one element type, got f32 and f16}}
%0 = graph.matmul %a, %b : (tensor<4x8xf32>, tensor<8x4xf16>) -> tensor<4x4xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xi1>, tensor<8x4xi1>)
// expected-error@+1 {{expected an element type among f64, f32, f16, bf16, i64, i32, i8, got i1}}
%0 = graph.matmul %a, %b : (tensor<4x8xi1>, tensor<8x4xi1>) -> tensor<4x4xi32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{expected a precision among ieee, bf16x6, tf32x3, tf32, got fast}}
%0 = graph.matmul %a, %b precision "fast" : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{expected an accumulator for f32, got i32}}
%0 = graph.matmul %a, %b acc i32 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{expected an accumulator no narrower than f32, got bf16}}
%0 = graph.matmul %a, %b acc bf16 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xbf16>, tensor<8x4xbf16>)
// expected-error@+1 {{expected a result of bf16 or f32, got f16}}
%0 = graph.matmul %a, %b : (tensor<4x8xbf16>, tensor<8x4xbf16>) -> tensor<4x4xf16>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{expected a result of f32, got i32}}
%0 = graph.matmul %a, %b : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xi32>

// -----

%a, %b, %c = "test.op"() : () -> (tensor<4x8xbf16>, tensor<8x4xbf16>, tensor<4x4xbf16>)
// expected-error@+1 {{expected an init like the result, 4x4 of f32, got 4x4 of bf16}}
%0 = graph.matmul %a, %b init %c : (tensor<4x8xbf16>, tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xf32>
