// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{expected a dimension below 1, got 1}}
%y = mem.scan ins(%x : tensor<4xf32>) dim 1 domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
^bb0(%a: f32, %acc: f32):
  %z = arith.addf %a, %acc : f32
  mem.yield %z : f32
} -> tensor<4xf32>

// -----

%x = "test.op"() : () -> tensor<8xf32>
// expected-error@+1 {{input: expected a projected permutation, got (d0) -> ((d0 * 2))}}
%y = mem.scan ins(%x : tensor<8xf32>) dim 0 domain [4]
    maps [affine_map<(d0) -> (d0 * 2)>, affine_map<(d0) -> (d0)>] {
^bb0(%a: f32, %acc: f32):
  %z = arith.addf %a, %acc : f32
  mem.yield %z : f32
} -> tensor<4xf32>

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{output: expected the identity map, got (d0, d1) -> (d1, d0)}}
%y = mem.scan ins(%x : tensor<4x8xf32>) dim 0 domain [4, 8]
    maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>] {
^bb0(%a: f32, %acc: f32):
  %z = arith.addf %a, %acc : f32
  mem.yield %z : f32
} -> tensor<8x4xf32>

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{output 0: expected shape [4], got [5]}}
%y = mem.scan ins(%x : tensor<4xf32>) dim 0 domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
^bb0(%a: f32, %acc: f32):
  %z = arith.addf %a, %acc : f32
  mem.yield %z : f32
} -> tensor<5xf32>

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{expected a body that yields (f64), got (f32)}}
%y = mem.scan ins(%x : tensor<4xf32>) dim 0 domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
^bb0(%a: f32, %acc: f32):
  %z = arith.addf %a, %acc : f32
  mem.yield %z : f32
} -> tensor<4xf64>

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{expected a body of one of arith.addf, arith.addi,}}
%y = mem.scan ins(%x : tensor<4xf32>) dim 0 domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
^bb0(%a: f32, %acc: f32):
  %z = arith.subf %a, %acc : f32
  mem.yield %z : f32
} -> tensor<4xf32>

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{expected `arith.addf` to combine both arguments of the body}}
%y = mem.scan ins(%x : tensor<4xf32>) dim 0 domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
^bb0(%a: f32, %acc: f32):
  %z = arith.addf %a, %a : f32
  mem.yield %z : f32
} -> tensor<4xf32>
