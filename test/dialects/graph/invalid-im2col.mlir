// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected a basis of 2 lists, one for each axis of the result, got []}}
%0 = graph.im2col %x map affine_map<() -> (0, 0)> basis [] fill 0.0 : (tensor<9x8xf32>) -> tensor<1x1xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected a basis of 1 lists, one for each axis of the result, got [[9], [8]]}}
%0 = graph.im2col %x map affine_map<(a, b) -> (a, b)> basis [[9], [8]] fill 0.0 : (tensor<9x8xf32>) -> tensor<72xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected lists of one or more positive extents, got [[9], []]}}
%0 = graph.im2col %x map affine_map<(a) -> (a, 0)> basis [[9], []] fill 0.0 : (tensor<9x8xf32>) -> tensor<9x1xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected an extent from 1 to 9223372036854775807, got 0}}
%0 = graph.im2col %x map affine_map<(a) -> (a, 0)> basis [[0]] fill 0.0 : (tensor<9x8xf32>) -> tensor<0xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected an extent from 1 to 9223372036854775807, got 9223372036854775808}}
%0 = graph.im2col %x map affine_map<(a) -> (a, 0)> basis [[9223372036854775808]] fill 0.0 : (tensor<9x8xf32>) -> tensor<9xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected lists of one or more positive extents, got [[-9]]}}
%0 = "graph.im2col"(%x) <{map = affine_map<(a) -> (a, 0)>, basis = [array<i64: -9>], fill = 0.0 : f32}> : (tensor<9x8xf32>) -> tensor<9xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected extents whose product is at most 9223372036854775807, got 9223372036854775808}}
%0 = graph.im2col %x map affine_map<(a, b) -> (a, b)> basis [[4294967296, 2147483648]] fill 0.0 : (tensor<9x8xf32>) -> tensor<9xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected a result of shape [9, 8], the products of the basis, got [9, 9]}}
%0 = graph.im2col %x map affine_map<(a, b, c) -> (a, b + c)> basis [[9], [4, 2]] fill 0.0 : (tensor<9x8xf32>) -> tensor<9x9xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected a map from 3 digits to 2 axes, got (d0, d1) -> (d0, d1)}}
%0 = graph.im2col %x map affine_map<(a, b) -> (a, b)> basis [[9], [4, 2]] fill 0.0 : (tensor<9x8xf32>) -> tensor<9x8xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected a map from 2 digits to 2 axes, got (d0, d1) -> (d0)}}
%0 = graph.im2col %x map affine_map<(a, b) -> (a)> basis [[9], [8]] fill 0.0 : (tensor<9x8xf32>) -> tensor<9x8xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected a map from 2 digits to 2 axes, got (d0, d1)[s0] -> (d0, (d1 + s0))}}
%0 = graph.im2col %x map affine_map<(a, b)[s] -> (a, b + s)> basis [[9], [8]] fill 0.0 : (tensor<9x8xf32>) -> tensor<9x8xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected a linear expression, got (d0 floordiv 2)}}
%0 = graph.im2col %x map affine_map<(a, b) -> (a floordiv 2, b)> basis [[9], [8]] fill 0.0 : (tensor<9x8xf32>) -> tensor<9x8xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected a map, got 1 : i64}}
%0 = graph.im2col %x map 1 : i64 basis [[9], [8]] fill 0.0 : (tensor<9x8xf32>) -> tensor<9x8xf32>

// -----

%x = "test.op"() : () -> tensor<9x8xf32>
// expected-error@+1 {{expected a result of f32, got f16}}
%0 = graph.im2col %x map affine_map<(a, b) -> (a, b)> basis [[9], [8]] fill 0.0 : (tensor<9x8xf32>) -> tensor<9x8xf16>

// -----

%x = "test.op"() : () -> tensor<8xi32>
// expected-error@+1 {{expected a whole number, got 0.5}}
%0 = graph.im2col %x map affine_map<(a) -> (a)> basis [[8]] fill 0.5 : (tensor<8xi32>) -> tensor<8xi32>
