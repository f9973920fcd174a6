// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%a, %t = "test.op"() : () -> (memref<4xf32, "L1">, tensor<4xf32>)
// expected-error@+1 {{expected memrefs, got tensor<4xf32>}}
mem.map ins(%t : tensor<4xf32>) outs(%a : memref<4xf32, "L1">) domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
^bb0(%x: f32):
  mem.yield %x : f32
}

// -----

%a = "test.op"() : () -> memref<4xf32, "L1">
// expected-error@+1 {{expected 2 maps, one per input and output, got 1}}
mem.map ins(%a : memref<4xf32, "L1">) outs(%a : memref<4xf32, "L1">) domain [4]
    maps [affine_map<(d0) -> (d0)>] {
^bb0(%x: f32):
  mem.yield %x : f32
}

// -----

%a = "test.op"() : () -> memref<4xf32, "L1">
// expected-error@+1 {{expected positive extents, got [0]}}
mem.map ins(%a : memref<4xf32, "L1">) outs(%a : memref<4xf32, "L1">) domain [0]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
^bb0(%x: f32):
  mem.yield %x : f32
}

// -----

%a, %b = "test.op"() : () -> (memref<4xf32, "L1">, memref<8xf32, "L1">)
// expected-error@+1 {{output 0: expected the shape of the domain, [4], got [8]}}
mem.map ins(%a : memref<4xf32, "L1">) outs(%b : memref<8xf32, "L1">) domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
^bb0(%x: f32):
  mem.yield %x : f32
}

// -----

%a, %b = "test.op"() : () -> (memref<4xf32, "L1">, memref<5xf32, "L1">)
// expected-error@+1 {{input 0: dimension 0 is accessed from 0 to 4, outside [0, 4)}}
mem.map ins(%a : memref<4xf32, "L1">) outs(%b : memref<5xf32, "L1">) domain [5]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
^bb0(%x: f32):
  mem.yield %x : f32
}

// -----

%a, %b = "test.op"() : () -> (memref<8xf32, "L1">, memref<4xf32, "L1">)
// expected-error@+1 {{input 0: expected a projected permutation, got (d0) -> ((d0 * 2))}}
mem.map ins(%a : memref<8xf32, "L1">) outs(%b : memref<4xf32, "L1">) domain [4]
    maps [affine_map<(d0) -> (d0 * 2)>, affine_map<(d0) -> (d0)>] {
^bb0(%x: f32):
  mem.yield %x : f32
}

// -----

%a = "test.op"() : () -> memref<4x4xf32, "L1">
// expected-error@+1 {{input 0: expected the identity map of a buffer that is also an output}}
mem.map ins(%a : memref<4x4xf32, "L1">) outs(%a : memref<4x4xf32, "L1">) domain [4, 4]
    maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>] {
^bb0(%x: f32):
  mem.yield %x : f32
}

// -----

%a = "test.op"() : () -> memref<4xf32, "L1">
// expected-error@+1 {{expected a body with arguments of types (f32), got (f16)}}
mem.map ins(%a : memref<4xf32, "L1">) outs(%a : memref<4xf32, "L1">) domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
^bb0(%x: f16):
  mem.yield %x : f16
}

// -----

%a, %b = "test.op"() : () -> (memref<4xf32, "L1">, memref<4xf16, "L1">)
// expected-error@+1 {{expected a body that yields (f16), got (f32)}}
mem.map ins(%a : memref<4xf32, "L1">) outs(%b : memref<4xf16, "L1">) domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
^bb0(%x: f32):
  mem.yield %x : f32
}

// -----

%a, %s = "test.op"() : () -> (memref<4xf32, "L1">, memref<f32, "L1">)
// expected-error@+1 {{cannot combine by `arith.subf`, expected one of arith.addf}}
mem.reduce ins(%a : memref<4xf32, "L1">) outs(%s : memref<f32, "L1">) domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>] {
^bb0(%x: f32, %y: f32):
  %z = arith.subf %x, %y : f32
  mem.yield %z : f32
}

// -----

%a, %s = "test.op"() : () -> (memref<4xf32, "L1">, memref<f32, "L1">)
// expected-error@+1 {{expected `arith.addf` to combine an element with the output's element}}
mem.reduce ins(%a : memref<4xf32, "L1">) outs(%s : memref<f32, "L1">) domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>] {
^bb0(%x: f32, %y: f32):
  %z = arith.addf %x, %x : f32
  mem.yield %z : f32
}

// -----

%a, %s = "test.op"() : () -> (memref<4xf32, "L1">, memref<f32, "L1">)
// expected-error@+1 {{expected a linear expression, got (d0 mod 2)}}
mem.reduce ins(%a : memref<4xf32, "L1">) outs(%s : memref<f32, "L1">) domain [4]
    maps [affine_map<(d0) -> (d0 mod 2)>, affine_map<(d0) -> ()>] {
^bb0(%x: f32, %y: f32):
  %z = arith.addf %x, %y : f32
  mem.yield %z : f32
}

// -----

%a, %b, %c = "test.op"() : () -> (memref<4xf32, "L1">, memref<4xf16, "L1">, memref<4xf32, "L1">)
// expected-error@+1 {{expected inputs of one element type, got f32 and f16}}
mem.contract ins(%a, %b : memref<4xf32, "L1">, memref<4xf16, "L1">)
    outs(%c : memref<4xf32, "L1">) domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]

// -----

%a, %c = "test.op"() : () -> (memref<4xf32, "L1">, memref<5xf32, "L1">)
// expected-error@+1 {{output 0: expected shape [4], got [5]}}
mem.contract ins(%a, %a : memref<4xf32, "L1">, memref<4xf32, "L1">)
    outs(%c : memref<5xf32, "L1">) domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]

// -----

%a, %c = "test.op"() : () -> (memref<4xf32, "L1">, memref<4xf32, "L1">)
// expected-error@+1 {{expected a precision among ieee, bf16x6, tf32x3, tf32, got half}}
mem.contract ins(%a, %a : memref<4xf32, "L1">, memref<4xf32, "L1">)
    outs(%c : memref<4xf32, "L1">) domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
    precision "half"

// -----

%a, %c, %i = "test.op"() : () -> (memref<4xf32, "L1">, memref<4xf32, "L1">, index)
// expected-error@+1 {{expected `overwrite` before its condition}}
mem.contract ins(%a, %a : memref<4xf32, "L1">, memref<4xf32, "L1">)
    outs(%c : memref<4xf32, "L1">) domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
    unless %i

// -----

%a, %c = "test.op"() : () -> (tensor<4xf32>, tensor<f32>)
// expected-error@+1 {{expected buffers to overwrite, got tensors}}
%0 = mem.reduce ins(%a : tensor<4xf32>) outs(%c : tensor<f32>) domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>] overwrite {
^bb0(%x: f32, %y: f32):
  %z = arith.addf %x, %y : f32
  mem.yield %z : f32
} -> tensor<f32>
