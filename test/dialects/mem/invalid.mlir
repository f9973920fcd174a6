// RUN: tlf-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected a memory level such as "L2" in memref<4xf32>}}
%0 = mem.alloc : memref<4xf32>

// -----

// expected-error@+1 {{expected a static shape, got memref<?xf32, "L1">}}
%0 = mem.alloc : memref<?xf32, "L1">

// -----

// expected-error@+1 {{expected an offset of at least 0, got -8}}
%0 = mem.alloc at -8 : memref<4xf32, "L1">

// -----

%a, %b = "test.op"() : () -> (memref<4xf32, "L3">, memref<4xbf16, "L2">)
// expected-error@+1 {{cannot move elements of type f32 into a buffer of bf16}}
%t = mem.dma %a[0] to %b[0] size [4] : memref<4xf32, "L3"> to memref<4xbf16, "L2">

// -----

%a, %b = "test.op"() : () -> (memref<4x4xf32, "L3">, memref<4xf32, "L2">)
// expected-error@+1 {{cannot move a box of rank 2 into a buffer of rank 1}}
%t = mem.dma %a[0, 0] to %b[0] size [4, 1] : memref<4x4xf32, "L3"> to memref<4xf32, "L2">

// -----

%a, %b = "test.op"() : () -> (memref<4x4xf32, "L3">, memref<4x4xf32, "L2">)
// expected-error@+1 {{expected 2 source offsets, one per dimension, got 1}}
%t = mem.dma %a[0] to %b[0, 0] size [4, 4] : memref<4x4xf32, "L3"> to memref<4x4xf32, "L2">

// -----

%a, %b = "test.op"() : () -> (memref<4xf32, "L3">, memref<4xf32, "L2">)
// expected-error@+1 {{expected 1 sizes, one per dimension, got 2}}
%t = mem.dma %a[0] to %b[0] size [4, 4] : memref<4xf32, "L3"> to memref<4xf32, "L2">

// -----

%a, %b = "test.op"() : () -> (memref<4xf32, "L3">, memref<4xf32, "L2">)
// expected-error@+1 {{expected positive sizes, got [0]}}
%t = mem.dma %a[0] to %b[0] size [0] : memref<4xf32, "L3"> to memref<4xf32, "L2">

// -----

%a, %b = "test.op"() : () -> (memref<4xf32, "L3">, memref<4xf32, "L2">)
// expected-error@+1 {{expected at least 1 iteration ahead, got 0}}
%t = mem.dma %a[0] to %b[0] size [4] ahead 0 : memref<4xf32, "L3"> to memref<4xf32, "L2">

// -----

%a, %b = "test.op"() : () -> (memref<4xf32, "L3">, memref<4xf32, "L2">)
// expected-error@+1 {{expected a value of element type f32, got 0 : i64}}
%t = mem.dma %a[0] to %b[0] size [4] fill 0 : memref<4xf32, "L3"> to memref<4xf32, "L2">

// -----

%a, %b = "test.op"() : () -> (memref<4xf32, "L3">, memref<4xf32, "L2">)
// expected-error@+1 {{expected no `fill` of a `clipped` move: what would be filled is not moved}}
%t = mem.dma %a[0] to %b[0] size [4] fill 0.0 clipped : memref<4xf32, "L3"> to memref<4xf32, "L2">

// -----

// expected-error@+1 {{expected at least one token}}
"mem.wait"() : () -> ()

// -----

%a = "test.op"() : () -> memref<8xf32, "L3">
// expected-error@+1 {{expected a value of at least shape [4], the size of the box, got tensor<3xf32>}}
%v = mem.load %a[0] size [4] : memref<8xf32, "L3"> -> tensor<3xf32>

// -----

%a, %v = "test.op"() : () -> (memref<8xf32, "L3">, tensor<4xf16>)
// expected-error@+1 {{cannot move elements of type f16 to or from a buffer of f32}}
mem.store %v to %a[0] : tensor<4xf16> to memref<8xf32, "L3">

// -----

%a, %v = "test.op"() : () -> (memref<8xf32, "L3">, tensor<4x1xf32>)
// expected-error@+1 {{cannot move a value of rank 2 to or from a buffer of rank 1}}
mem.store %v to %a[0] : tensor<4x1xf32> to memref<8xf32, "L3">

// -----

// expected-error@+1 {{expected either a buffer to fill or a result}}
mem.fill 0.0

// -----

%a = "test.op"() : () -> memref<8xf32, "L1">
// expected-error@+1 {{expected 1 bounds, one per dimension, got 2}}
mem.mask %a at [0] bounds [4, 4] fill 0.0 : memref<8xf32, "L1">

// -----

%v = "test.op"() : () -> tensor<8xf32>
// expected-error@+1 {{expected a result if and only if masking a tensor}}
mem.mask %v at [0] bounds [4] fill 0.0 : tensor<8xf32>

// -----

%v = "test.op"() : () -> tensor<8xf32>
// expected-error@+1 {{expected a result of type tensor<8xf32>, got tensor<4xf32>}}
%0 = mem.mask %v at [0] bounds [4] fill 0.0 : tensor<8xf32> -> tensor<4xf32>
