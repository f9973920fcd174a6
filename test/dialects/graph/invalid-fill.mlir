// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected 2 numbers of at least 0 for low, got [1]}}
%0 = graph.pad %x low [1] high [0, 0] fill 0.0 : (tensor<4x8xf32>) -> tensor<5x8xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected 2 numbers of at least 0 for high, got [0, -1]}}
%0 = graph.pad %x low [0, 0] high [0, -1] fill 0.0 : (tensor<4x8xf32>) -> tensor<4x7xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a result of shape 5x8, got 5x9}}
%0 = graph.pad %x low [1, 0] high [0, 0] fill 0.0 : (tensor<4x8xf32>) -> tensor<5x9xf32>

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{expected a result of f32, got f16}}
%0 = graph.pad %x low [1] high [0] fill 0.0 : (tensor<4xf32>) -> tensor<5xf16>

// -----

%x = "test.op"() : () -> tensor<4xi32>
// expected-error@+1 {{expected a whole number, got 0.5}}
%0 = graph.pad %x low [1] high [0] fill 0.5 : (tensor<4xi32>) -> tensor<5xi32>

// -----

%x = "test.op"() : () -> tensor<4xi32>
// expected-error@+1 {{expected a whole number, got -inf}}
%0 = graph.pad %x low [1] high [0] fill -inf : (tensor<4xi32>) -> tensor<5xi32>

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{expected a fill of f32, got i32}}
%0 = "graph.pad"(%x) <{low = array<i64: 1>, high = array<i64: 0>, fill = 0 : i32}> : (tensor<4xf32>) -> tensor<5xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a map from 2 to 2 axes, got (d0, d1) -> (d0)}}
%0 = graph.unfold %x map affine_map<(a, b) -> (a)> fill 0.0 : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

%x = "test.op"() : () -> tensor<8xf32>
// expected-error@+1 {{expected a linear expression, got (d0 floordiv 2)}}
%0 = graph.unfold %x map affine_map<(a) -> (a floordiv 2)> fill 0.0 : (tensor<8xf32>) -> tensor<8xf32>

// -----

%x = "test.op"() : () -> tensor<8xf32>
// expected-error@+1 {{expected a map, got 1 : i64}}
%0 = graph.unfold %x map 1 : i64 fill 0.0 : (tensor<8xf32>) -> tensor<8xf32>
