// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x = "test.op"() : () -> tensor<8x9x9xf32>
// expected-error@+1 {{expected images of rank 4, got 8x9x9}}
%0 = graph.max_pool2d %x kernel [3, 3] : (tensor<8x9x9xf32>) -> tensor<8x7x7xf32>

// -----

%x = "test.op"() : () -> tensor<1x8x9x9xf32>
// expected-error@+1 {{expected 2 numbers of at least 1 for kernel, got [3]}}
%0 = graph.max_pool2d %x kernel [3] : (tensor<1x8x9x9xf32>) -> tensor<1x8x7x7xf32>

// -----

%x = "test.op"() : () -> tensor<1x8x9x9xf32>
// expected-error@+1 {{expected a padded image of at least 10 along axis 2, got 9}}
%0 = graph.sum_pool2d %x kernel [10, 1] : (tensor<1x8x9x9xf32>) -> tensor<1x8x1x9xf32>

// -----

%x = "test.op"() : () -> tensor<1x8x9x9xf32>
// expected-error@+1 {{expected a result of shape 1x8x7x7, got 1x8x9x9}}
%0 = graph.sum_pool2d %x kernel [3, 3] : (tensor<1x8x9x9xf32>) -> tensor<1x8x9x9xf32>

// -----

%x = "test.op"() : () -> tensor<1x8x9x9xbf16>
// expected-error@+1 {{expected a result of bf16, got f32}}
%0 = graph.max_pool2d %x kernel [3, 3] : (tensor<1x8x9x9xbf16>) -> tensor<1x8x7x7xf32>

// -----

%x = "test.op"() : () -> tensor<1x8x9x9xf32>
// expected-error@+1 {{expected every window to meet its image, got padding [3, 0, 0, 0] of kernel [3, 3]}}
%0 = graph.avg_pool2d %x kernel [3, 3] padding [3, 0, 0, 0] exclude_padding : (tensor<1x8x9x9xf32>) -> tensor<1x8x10x7xf32>

// -----

%x = "test.op"() : () -> tensor<1x8x9x9xi32>
// expected-error@+1 {{expected an element type among f64, f32, f16, bf16, got i32}}
%0 = graph.avg_pool2d %x kernel [3, 3] : (tensor<1x8x9x9xi32>) -> tensor<1x8x7x7xi32>

// -----

%x = "test.op"() : () -> tensor<1x8x9x9xf32>
// expected-error@+1 {{expected images of rank 5, got 1x8x9x9}}
%0 = graph.max_pool3d %x kernel [3, 3, 3] : (tensor<1x8x9x9xf32>) -> tensor<1x8x7x7xf32>

// -----

%x = "test.op"() : () -> tensor<1x8x5x9x9xf32>
// expected-error@+1 {{expected 3 numbers of at least 1 for kernel, got [3, 3]}}
%0 = graph.max_pool3d %x kernel [3, 3] : (tensor<1x8x5x9x9xf32>) -> tensor<1x8x3x7x7xf32>

// -----

%x = "test.op"() : () -> tensor<1x8x5x9x9xf32>
// expected-error@+1 {{expected a result of shape 1x8x3x7x7, got 1x8x5x7x7}}
%0 = graph.max_pool3d %x kernel [3, 3, 3] : (tensor<1x8x5x9x9xf32>) -> tensor<1x8x5x7x7xf32>

// -----

%x = "test.op"() : () -> tensor<1x8x5x9x9xf32>
// expected-error@+1 {{expected a result of f32, got f16}}
%0 = graph.max_pool3d %x kernel [3, 3, 3] : (tensor<1x8x5x9x9xf32>) -> tensor<1x8x3x7x7xf16>

// -----

%x = "test.op"() : () -> tensor<1x8x5x9x9xf32>
// expected-error@+1 {{expected 6 numbers of at least 0 for padding, got [1, 1, 1]}}
%0 = graph.avg_pool3d %x kernel [3, 3, 3] padding [1, 1, 1] : (tensor<1x8x5x9x9xf32>) -> tensor<1x8x3x7x7xf32>

// -----

%x = "test.op"() : () -> tensor<1x8x5x9x9xf32>
// expected-error@+1 {{expected every window to meet its image, got padding [1, 0, 0, 0, 0, 0] of kernel [1, 3, 3]}}
%0 = graph.avg_pool3d %x kernel [1, 3, 3] padding [1, 0, 0, 0, 0, 0] exclude_padding : (tensor<1x8x5x9x9xf32>) -> tensor<1x8x6x7x7xf32>
