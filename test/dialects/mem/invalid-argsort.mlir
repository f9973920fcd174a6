// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%v = "test.op"() : () -> tensor<2x128xi64>
// expected-error@+1 {{expected elements of at most 32 bits, got i64}}
%i = mem.argsort %v count 100 : tensor<2x128xi64> -> tensor<2x128xi32>

// -----

%v = "test.op"() : () -> tensor<2x128xf32>
// expected-error@+1 {{expected indices of i32, got i64}}
%i = mem.argsort %v count 100 : tensor<2x128xf32> -> tensor<2x128xi64>

// -----

%v = "test.op"() : () -> tensor<2x128xf32>
// expected-error@+1 {{expected indices of at most 128 elements of rows [2], got [2, 129]}}
%i = mem.argsort %v count 100 : tensor<2x128xf32> -> tensor<2x129xi32>

// -----

%v = "test.op"() : () -> tensor<2x128xf32>
// expected-error@+1 {{expected indices of at most 128 elements of rows [2], got [4, 128]}}
%i = mem.argsort %v count 100 : tensor<2x128xf32> -> tensor<4x128xi32>

// -----

%v = "test.op"() : () -> tensor<f32>
// expected-error@+1 {{expected indices of at most 0 elements of rows [], got []}}
%i = mem.argsort %v count 1 : tensor<f32> -> tensor<i32>

// -----

%v = "test.op"() : () -> tensor<2x128xf32>
// expected-error@+1 {{expected a count from 1 to 128, got 129}}
%i = mem.argsort %v count 129 : tensor<2x128xf32> -> tensor<2x128xi32>
