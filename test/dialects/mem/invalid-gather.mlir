// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x, %n = "test.op"() : () -> (memref<100x64xf32, "L3">, tensor<16xi8>)
// expected-error@+1 {{expected indices of i32 or i64, got i8}}
%0 = mem.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 64] : memref<100x64xf32, "L3">, tensor<16xi8> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (memref<100x64xf32, "L3">, tensor<16xf32>)
// expected-error@+1 {{expected indices of i32 or i64, got f32}}
%0 = mem.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 64] : memref<100x64xf32, "L3">, tensor<16xf32> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (memref<100x64xf32, "L3">, tensor<16xi64>)
// expected-error@+1 {{expected an axis of the 2 of the source, got 2}}
%0 = mem.gather %x[0, 0] axis 2 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 64] : memref<100x64xf32, "L3">, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (memref<100x64xf32, "L3">, tensor<16xi64>)
// expected-error@+1 {{expected an axis of the 2 of the source, got -1}}
%0 = mem.gather %x[0, 0] axis -1 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 64] : memref<100x64xf32, "L3">, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (memref<100x64xf32, "L3">, tensor<16xi64>)
// expected-error@+1 {{expected 2 maps, of the source and of the indices, got 1}}
%0 = mem.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>] size [16, 64] : memref<100x64xf32, "L3">, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (memref<100x64xf32, "L3">, tensor<16xi64>)
// expected-error@+1 {{expected a map from 2 dimensions of the result to 2 of the source, got (d0, d1) -> (d1)}}
%0 = mem.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 64] : memref<100x64xf32, "L3">, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (memref<100x64xf32, "L3">, tensor<16xi64>)
// expected-error@+1 {{expected a linear expression, got (d1 mod 2)}}
%0 = mem.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1 mod 2)>, affine_map<(d0, d1) -> (d0)>] size [16, 64] : memref<100x64xf32, "L3">, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (memref<100x64xf32, "L3">, tensor<16xi64>)
// expected-error@+1 {{expected offset 0 along axis 0, where the indices select elements}}
%0 = mem.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 64] : memref<100x64xf32, "L3">, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (memref<100x64xf32, "L3">, tensor<16xi64>)
// expected-error@+1 {{expected offset 0 along axis 0, where the indices select elements}}
%0 = mem.gather %x[1, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 64] : memref<100x64xf32, "L3">, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (memref<100x64xf32, "L3">, tensor<16xi64>)
// expected-error@+1 {{indices: expected a map with 1 results, one per dimension of the operand, got (d0, d1) -> (d0, d1)}}
%0 = mem.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] size [16, 64] : memref<100x64xf32, "L3">, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (memref<100x64xf32, "L3">, tensor<8xi64>)
// expected-error@+1 {{indices: dimension 0 is accessed from 0 to 15, outside [0, 8)}}
%0 = mem.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 64] : memref<100x64xf32, "L3">, tensor<8xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (memref<100x64xf32, "L3">, tensor<16xi64>)
// expected-error@+1 {{cannot move elements of type f16 to or from a buffer of f32}}
%0 = mem.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 64] : memref<100x64xf32, "L3">, tensor<16xi64> -> tensor<16x64xf16>

// -----

%x, %n = "test.op"() : () -> (memref<100x64xf32>, tensor<16xi64>)
// expected-error@+1 {{expected a memory level such as}}
%0 = mem.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 64] : memref<100x64xf32>, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (memref<100x64xf32, "L3">, tensor<16xi64>)
// expected-error@+1 {{expected 2 offsets, one per dimension, got 1}}
%0 = mem.gather %x[0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 64] : memref<100x64xf32, "L3">, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (memref<100x64xf32, "L3">, tensor<16xi64>)
// expected-error@+1 {{expected 2 sizes, one per dimension, got 1}}
%0 = mem.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16] : memref<100x64xf32, "L3">, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (memref<100x64xf32, "L3">, tensor<16xi64>)
// expected-error@+1 {{expected a value of at least shape [17, 64], the size of the box, got tensor<16x64xf32>}}
%0 = mem.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [17, 64] : memref<100x64xf32, "L3">, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n = "test.op"() : () -> (memref<100x64xf32, "L3">, tensor<16xi64>)
// expected-error@+1 {{expected a value of element type f32, got 0 : i64}}
%0 = mem.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 64] fill 0 : memref<100x64xf32, "L3">, tensor<16xi64> -> tensor<16x64xf32>

// -----

%x, %n, %d = "test.op"() : () -> (memref<100x64xf32, "L3">, memref<16xi64, "L2">, memref<16x8xf16, "L2">)
// expected-error@+1 {{cannot move elements of type f32 into a buffer of f16}}
%t = mem.dma_gather %x[0, 0] axis 0 at %n to %d maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 8] : memref<100x64xf32, "L3">, memref<16xi64, "L2"> to memref<16x8xf16, "L2">

// -----

%x, %n, %d = "test.op"() : () -> (memref<100x64xf32, "L3">, memref<16xf32, "L2">, memref<16x8xf32, "L2">)
// expected-error@+1 {{expected indices of i32 or i64, got f32}}
%t = mem.dma_gather %x[0, 0] axis 0 at %n to %d maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 8] : memref<100x64xf32, "L3">, memref<16xf32, "L2"> to memref<16x8xf32, "L2">

// -----

%x, %n, %d = "test.op"() : () -> (memref<100x64xf32, "L3">, memref<16xi64, "L2">, memref<16x8xf32, "L2">)
// expected-error@+1 {{expected a box within [16, 8], got [16, 9]}}
%t = mem.dma_gather %x[0, 0] axis 0 at %n to %d maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 9] : memref<100x64xf32, "L3">, memref<16xi64, "L2"> to memref<16x8xf32, "L2">

// -----

%x, %n, %d = "test.op"() : () -> (memref<100x64xf32, "L3">, memref<16xi64, "L2">, memref<16x8xf32, "L2">)
// expected-error@+1 {{expected offset 0 along axis 0, where the indices select elements}}
%t = mem.dma_gather %x[1, 0] axis 0 at %n to %d maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 8] : memref<100x64xf32, "L3">, memref<16xi64, "L2"> to memref<16x8xf32, "L2">
