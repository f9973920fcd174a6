// RUN: tlf-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected elements of tensor<4xf32>, got tensor<2xf32>}}
%0 = graph.constant dense<0.0> : tensor<2xf32> -> tensor<4xf32>

// -----

// expected-error@+1 {{expected elements of tensor<4xf32>, got tensor<4xi32>}}
%0 = graph.constant dense<0> : tensor<4xi32> -> tensor<4xf32>

// -----

// expected-error@+1 {{expected dense elements or a file, got "weights"}}
%0 = graph.constant "weights"

// -----

// expected-error@+1 {{expected dense elements or a file, got "weights"}}
%0 = "graph.constant"() <{value = "weights"}> : () -> tensor<4xf32>

// -----

// expected-error@+1 {{expected an element type among f64, f32, f16, bf16, i64, i32, i8, i1, got i16}}
%0 = graph.constant dense<0> : tensor<4xi16>
