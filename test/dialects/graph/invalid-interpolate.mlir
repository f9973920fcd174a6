// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x = "test.op"() : () -> tensor<8x9xf32>
// expected-error@+1 {{expected images of rank 3 or more, got 8x9}}
%0 = graph.interpolate %x steps [] : (tensor<8x9xf32>) -> tensor<8x9xf32>

// -----

%x = "test.op"() : () -> tensor<1x8x9xf32>
// expected-error@+1 {{expected a result of shape 1x8x18, got 1x4x18}}
%0 = graph.interpolate %x steps [0.5] : (tensor<1x8x9xf32>) -> tensor<1x4x18xf32>

// -----

%x = "test.op"() : () -> tensor<1x8x9xi32>
// expected-error@+1 {{expected an element type among f64, f32, f16, bf16, got i32}}
%0 = graph.interpolate %x steps [0.5] : (tensor<1x8x9xi32>) -> tensor<1x8x18xi32>

// -----

%x = "test.op"() : () -> tensor<1x8x9xf32>
// expected-error@+1 {{expected a result of f32, got f16}}
%0 = graph.interpolate %x steps [0.5] : (tensor<1x8x9xf32>) -> tensor<1x8x18xf16>

// -----

%x = "test.op"() : () -> tensor<1x8x9x9xf32>
// expected-error@+1 {{expected 2 steps of at least 0, got [0.5]}}
%0 = graph.interpolate %x steps [0.5] : (tensor<1x8x9x9xf32>) -> tensor<1x8x18x18xf32>

// -----

%x = "test.op"() : () -> tensor<1x8x9xf32>
// expected-error@+1 {{expected 1 steps of at least 0, got [-0.5]}}
%0 = graph.interpolate %x steps [-0.5] : (tensor<1x8x9xf32>) -> tensor<1x8x18xf32>
