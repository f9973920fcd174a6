// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected 2 numbers of at least 0 for offsets, got [0, -1]}}
%0 = graph.slice %x offsets [0, -1] strides [1, 1] : (tensor<4x8xf32>) -> tensor<4x4xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected 2 numbers of at least 1 for strides, got [1]}}
%0 = graph.slice %x offsets [0, 0] strides [1] : (tensor<4x8xf32>) -> tensor<4x4xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected indices below 8 along axis 1, got 8}}
%0 = graph.slice %x offsets [0, 2] strides [1, 3] : (tensor<4x8xf32>) -> tensor<4x3xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a result of rank 2, got 1}}
%0 = graph.slice %x offsets [0, 0] strides [1, 1] : (tensor<4x8xf32>) -> tensor<8xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<3x8xf32>)
// expected-error@+1 {{expected shapes that differ along axis 1 only, got 4x8 and 3x8}}
%0 = graph.concat %a, %b axis 1 : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x16xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8xf32>)
// expected-error@+1 {{expected shapes that differ along axis 1 only, got 4x8 and 8}}
%0 = graph.concat %a, %b axis 1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x16xf32>

// -----

%a = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected 2 or more operands, got 1}}
%0 = graph.concat %a axis 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

%a = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected axes between 0 and 1, got 2}}
%0 = graph.concat %a, %a axis 2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>

// -----

%a = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a result of shape 4x16, got 4x8}}
%0 = graph.concat %a, %a axis 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

// expected-error@+1 {{expected axes between 0 and 1, got 2}}
%0 = graph.iota axis 2 : tensor<4x8xi32>

// -----

// expected-error@+1 {{expected an element type among f64, f32, f16, bf16, i64, i32, i8, got i1}}
%0 = graph.iota axis 0 : tensor<2xi1>
