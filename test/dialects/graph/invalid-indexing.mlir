// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x, %i = "test.op"() : () -> (tensor<4x8xf32>, tensor<3xf32>)
// expected-error@+1 {{expected an element type among i64, i32, got f32}}
%0 = graph.take %x, %i axis 0 : (tensor<4x8xf32>, tensor<3xf32>) -> tensor<3x8xf32>

// -----

%x, %i = "test.op"() : () -> (tensor<4x8xf32>, tensor<3xi32>)
// expected-error@+1 {{expected axes between 0 and 1, got 2}}
%0 = graph.take %x, %i axis 2 : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<4x8xf32>

// -----

%x, %i = "test.op"() : () -> (tensor<4x8xf32>, tensor<2x3xi32>)
// expected-error@+1 {{expected a result of shape 4x2x3, got 4x6}}
%0 = graph.take %x, %i axis 1 : (tensor<4x8xf32>, tensor<2x3xi32>) -> tensor<4x6xf32>

// -----

%x, %i = "test.op"() : () -> (tensor<4x8xf32>, tensor<3xi32>)
// expected-error@+1 {{expected a result of f32, got f16}}
%0 = graph.take %x, %i axis 0 : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<3x8xf16>

// -----

%x, %i = "test.op"() : () -> (tensor<4x8xf32>, tensor<8xi32>)
// expected-error@+1 {{expected indices within 4x8 but for axis 0, got 8}}
%0 = graph.gather %x, %i axis 0 : (tensor<4x8xf32>, tensor<8xi32>) -> tensor<8xf32>

// -----

%x, %i = "test.op"() : () -> (tensor<4x8xf32>, tensor<9x9xi32>)
// expected-error@+1 {{expected indices within 4x8 but for axis 0, got 9x9}}
%0 = graph.gather %x, %i axis 0 : (tensor<4x8xf32>, tensor<9x9xi32>) -> tensor<9x9xf32>

// -----

%x, %i = "test.op"() : () -> (tensor<4x8xf32>, tensor<5x8xi32>)
// expected-error@+1 {{expected a result of shape 5x8, got 4x8}}
%0 = graph.gather %x, %i axis 0 : (tensor<4x8xf32>, tensor<5x8xi32>) -> tensor<4x8xf32>

// -----

%x, %i = "test.op"() : () -> (tensor<f32>, tensor<i32>)
// expected-error@+1 {{expected no axes for a scalar, got 0}}
%0 = graph.gather %x, %i axis 0 : (tensor<f32>, tensor<i32>) -> tensor<f32>

// -----

%x, %i, %u = "test.op"() : () -> (tensor<4x8xf32>, tensor<5x8xi32>, tensor<4x8xf32>)
// expected-error@+1 {{expected updates of shape 5x8, got 4x8}}
%0 = graph.scatter %x, %i, %u axis 0 <set> : (tensor<4x8xf32>, tensor<5x8xi32>, tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

%x, %i, %u = "test.op"() : () -> (tensor<4x8xf32>, tensor<5x9xi32>, tensor<5x9xf32>)
// expected-error@+1 {{expected indices within 4x8 but for axis 0, got 5x9}}
%0 = graph.scatter %x, %i, %u axis 0 <set> : (tensor<4x8xf32>, tensor<5x9xi32>, tensor<5x9xf32>) -> tensor<4x8xf32>

// -----

%x, %i, %u = "test.op"() : () -> (tensor<4x8xf32>, tensor<5x8xi32>, tensor<5x8xf16>)
// expected-error@+1 {{expected operands of one element type, got f32 and f16}}
%0 = graph.scatter %x, %i, %u axis 0 <set> : (tensor<4x8xf32>, tensor<5x8xi32>, tensor<5x8xf16>) -> tensor<4x8xf32>

// -----

%x, %i, %u = "test.op"() : () -> (tensor<4x8xf32>, tensor<5x8xi32>, tensor<5x8xf32>)
// expected-error@+1 {{expected a result of shape 4x8, got 5x8}}
%0 = graph.scatter %x, %i, %u axis 0 <set> : (tensor<4x8xf32>, tensor<5x8xi32>, tensor<5x8xf32>) -> tensor<5x8xf32>

// -----

%x, %i, %u = "test.op"() : () -> (tensor<4x8xi1>, tensor<5x8xi32>, tensor<5x8xi1>)
// expected-error@+1 {{expected numbers to add, got i1}}
%0 = graph.scatter %x, %i, %u axis 0 <add> : (tensor<4x8xi1>, tensor<5x8xi32>, tensor<5x8xi1>) -> tensor<4x8xi1>

// -----

%x, %i, %u = "test.op"() : () -> (tensor<4x8xf32>, tensor<5x8xi32>, tensor<5x8xf32>)
// expected-error@+1 {{expected `set`, `add`, `mul`, `max`, or `min`}}
%0 = graph.scatter %x, %i, %u axis 0 <sub> : (tensor<4x8xf32>, tensor<5x8xi32>, tensor<5x8xf32>) -> tensor<4x8xf32>

// -----

%x, %i, %u = "test.op"() : () -> (tensor<4x8xf32>, tensor<5x8xi32>, tensor<5x8xf32>)
// expected-error@+1 {{expected a sum or an extremum to combine, got set}}
%0 = graph.scatter %x, %i, %u axis 0 <set> combined : (tensor<4x8xf32>, tensor<5x8xi32>, tensor<5x8xf32>) -> tensor<4x8xf32>

// -----

%x, %i, %u = "test.op"() : () -> (tensor<4x8xf32>, tensor<5x8xi32>, tensor<5x8xf16>)
// expected-error@+1 {{expected operands of one element type, got f32 and f16}}
%0 = graph.scatter %x, %i, %u axis 0 <add> : (tensor<4x8xf32>, tensor<5x8xi32>, tensor<5x8xf16>) -> tensor<4x8xf32>

// -----

%x, %i, %u = "test.op"() : () -> (tensor<4x8xf16>, tensor<5x8xi32>, tensor<5x8xf16>)
// expected-error@+1 {{expected elements of f32, i32 or i64 to combine, got f16}}
%0 = graph.scatter %x, %i, %u axis 0 <add> combined : (tensor<4x8xf16>, tensor<5x8xi32>, tensor<5x8xf16>) -> tensor<4x8xf16>
