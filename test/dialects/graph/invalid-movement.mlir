// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a result of 32 elements, got 30}}
%0 = graph.reshape %x : (tensor<4x8xf32>) -> tensor<5x6xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a result of f32, got bf16}}
%0 = graph.reshape %x : (tensor<4x8xf32>) -> tensor<32xbf16>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a permutation of 2 axes, got [0, 0]}}
%0 = graph.transpose %x permutation [0, 0] : (tensor<4x8xf32>) -> tensor<4x4xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a result of shape 8x4, got 4x8}}
%0 = graph.transpose %x permutation [1, 0] : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a result of f32, got f16}}
%0 = graph.transpose %x permutation [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf16>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a shape that 4x8 broadcasts to, got 1x8}}
%0 = graph.broadcast %x : (tensor<4x8xf32>) -> tensor<1x8xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a shape that 4x8 broadcasts to, got 8}}
%0 = graph.broadcast %x : (tensor<4x8xf32>) -> tensor<8xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a result of f32, got i32}}
%0 = graph.broadcast %x : (tensor<4x8xf32>) -> tensor<2x4x8xi32>
