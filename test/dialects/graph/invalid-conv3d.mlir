// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x, %w = "test.op"() : () -> (tensor<8x5x9x9xf32>, tensor<16x8x3x3x3xf32>)
// expected-error@+1 {{expected images and filters of rank 5, got 8x5x9x9 and 16x8x3x3x3}}
%0 = graph.conv3d %x, %w : (tensor<8x5x9x9xf32>, tensor<16x8x3x3x3xf32>) -> tensor<1x16x3x7x7xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf32>)
// expected-error@+1 {{expected images of 16 channels, 2 times those of a filter, got 8}}
%0 = graph.conv3d %x, %w groups 2 : (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf32>) -> tensor<1x16x3x7x7xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf32>)
// expected-error@+1 {{expected a padded image of at least 7 along axis 2, got 5}}
%0 = graph.conv3d %x, %w dilation [3, 1, 1] : (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf32>) -> tensor<1x16x3x7x7xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf32>)
// expected-error@+1 {{expected a result of shape 1x16x3x7x7, got 1x16x5x9x9}}
%0 = graph.conv3d %x, %w : (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf32>) -> tensor<1x16x5x9x9xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf32>)
// expected-error@+1 {{expected 3 numbers of at least 1 for strides, got [1, 1]}}
%0 = graph.conv3d %x, %w strides [1, 1] : (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf32>) -> tensor<1x16x3x7x7xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf32>)
// expected-error@+1 {{expected 6 numbers of at least 0 for padding, got [1, 1, 1]}}
%0 = graph.conv3d %x, %w padding [1, 1, 1] : (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf32>) -> tensor<1x16x3x7x7xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf16>)
// expected-error@+1 {{expected operands of one element type, got f32 and f16}}
%0 = graph.conv3d %x, %w : (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf16>) -> tensor<1x16x3x7x7xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf32>)
// expected-error@+1 {{expected a precision among ieee, bf16x6, tf32x3, tf32, got bf16}}
%0 = graph.conv3d %x, %w precision "bf16" : (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf32>) -> tensor<1x16x3x7x7xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf32>)
// expected-error@+1 {{expected an accumulator no narrower than f32, got f16}}
%0 = graph.conv3d %x, %w acc f16 : (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf32>) -> tensor<1x16x3x7x7xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf32>)
// expected-error@+1 {{expected a result of f32, got f16}}
%0 = graph.conv3d %x, %w : (tensor<1x8x5x9x9xf32>, tensor<16x8x3x3x3xf32>) -> tensor<1x16x3x7x7xf16>
