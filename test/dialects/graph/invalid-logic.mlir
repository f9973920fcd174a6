// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%a = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{expected a result of i1, got f32}}
%0 = graph.compare %a, %a <lt> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

%a = "test.op"() : () -> tensor<4xi1>
// expected-error@+1 {{expected elements of f64, f32, f16, bf16, i64, i32, i8, got i1}}
%0 = graph.compare %a, %a <lt> : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>

// -----

%a = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{expected `eq`, `ne`, `lt`, `le`, `gt`, or `ge`}}
%0 = graph.compare %a, %a <less> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>

// -----

%a = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{expected a condition of i1, got f32}}
%0 = graph.select %a, %a, %a : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

%c, %a, %b = "test.op"() : () -> (tensor<4xi1>, tensor<4xf32>, tensor<4xf16>)
// expected-error@+1 {{expected operands of one element type, got f32 and f16}}
%0 = graph.select %c, %a, %b : (tensor<4xi1>, tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>

// -----

%c, %a, %b = "test.op"() : () -> (tensor<3xi1>, tensor<4xf32>, tensor<4xf32>)
// expected-error@+1 {{expected shapes that broadcast, got 3 and 4 and 4}}
%0 = graph.select %c, %a, %b : (tensor<3xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

%a = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{expected elements of i64, i32, i8, i1, got f32}}
%0 = graph.and %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
