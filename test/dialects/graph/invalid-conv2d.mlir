// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x, %w = "test.op"() : () -> (tensor<8x9x9xf32>, tensor<16x8x3x3xf32>)
// expected-error@+1 {{expected images and filters of rank 4, got 8x9x9 and 16x8x3x3}}
%0 = graph.conv2d %x, %w : (tensor<8x9x9xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x7x7xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>)
// expected-error@+1 {{expected images of 16 channels, 2 times those of a filter, got 8}}
%0 = graph.conv2d %x, %w groups 2 : (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x7x7xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<1x8x9x9xf32>, tensor<15x4x3x3xf32>)
// expected-error@+1 {{expected as many filters for each of 2 groups, got 15}}
%0 = graph.conv2d %x, %w groups 2 : (tensor<1x8x9x9xf32>, tensor<15x4x3x3xf32>) -> tensor<1x15x7x7xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>)
// expected-error@+1 {{expected a padded image of at least 11 along axis 3, got 9}}
%0 = graph.conv2d %x, %w dilation [1, 5] : (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x7x7xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>)
// expected-error@+1 {{expected a result of shape 1x16x7x7, got 1x16x9x9}}
%0 = graph.conv2d %x, %w : (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x9x9xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>)
// expected-error@+1 {{expected 2 numbers of at least 1 for strides, got [0, 1]}}
%0 = graph.conv2d %x, %w strides [0, 1] : (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x7x7xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>)
// expected-error@+1 {{expected 4 numbers of at least 0 for padding, got [1, 1]}}
%0 = graph.conv2d %x, %w padding [1, 1] : (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x7x7xf32>

// -----

%x, %w = "test.op"() : () -> (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>)
// expected-error@+1 {{expected a number of at least 1 for groups, got 0}}
%0 = graph.conv2d %x, %w groups 0 : (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x7x7xf32>
