// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected axes between 0 and 1, got -1}}
%0 = graph.softmax %x axis -1 : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a result of shape 4x8, got 4}}
%0 = graph.softmax %x axis 1 : (tensor<4x8xf32>) -> tensor<4xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a result of f32, got bf16}}
%0 = graph.softmax %x axis 1 : (tensor<4x8xf32>) -> tensor<4x8xbf16>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected 1 to 2 last axes, got 3}}
%0 = graph.layer_norm %x last 3 epsilon 1.0e-5 : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected an epsilon of at least 0, got -1.0}}
%0 = graph.layer_norm %x epsilon -1.0 : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<4x8xf32>, tensor<4xf32>)
// expected-error@+1 {{expected a weight of shape 8, got 4}}
%0 = graph.layer_norm %x weight %w epsilon 1.0e-5 : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>

// -----

%x, %b = "test.op"() : () -> (tensor<4x8xbf16>, tensor<8xf16>)
// expected-error@+1 {{expected a bias of bf16 or f32, got f16}}
%0 = graph.layer_norm %x bias %b epsilon 1.0e-5 : (tensor<4x8xbf16>, tensor<8xf16>) -> tensor<4x8xbf16>

// -----

%x, %w = "test.op"() : () -> (tensor<8xf32>, tensor<8xf32>)
// expected-error@+1 {{expected an operand of rank 2 or more, got 8}}
%0 = graph.batch_norm %x mean %w variance %w epsilon 1.0e-5 : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<4x8xf32>, tensor<4xf32>)
// expected-error@+1 {{expected a mean of shape 8, got 4}}
%0 = graph.batch_norm %x mean %w variance %w epsilon 1.0e-5 : (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x8xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<4x8xf32>, tensor<8xf32>)
// expected-error@+1 {{graph.batch_norm: expected 1 value for mean, but got 0}}
%0 = graph.batch_norm %x variance %w epsilon 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
