// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%s, %n, %x = "test.op"() : () -> (memref<16x8xi8, "L2">, memref<16xi64, "L2">, memref<100x64xi8, "L3">)
// expected-error@+1 {{expected elements of f32, i32 or i64 to accumulate, got i8}}
%t = mem.dma_scatter %s to %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 8] accumulate : memref<16x8xi8, "L2">, memref<16xi64, "L2"> to memref<100x64xi8, "L3">

// -----

%s, %n, %x = "test.op"() : () -> (memref<16x8xf32, "L2">, memref<16xi64, "L2">, memref<100x64xf16, "L3">)
// expected-error@+1 {{cannot move elements of type f32 into a buffer of f16}}
%t = mem.dma_scatter %s to %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 8] : memref<16x8xf32, "L2">, memref<16xi64, "L2"> to memref<100x64xf16, "L3">

// -----

%s, %n, %x = "test.op"() : () -> (memref<16x8xf32, "L2">, memref<16xi64, "L2">, memref<100x64xf32, "L3">)
// expected-error@+1 {{expected a box within [16, 8], got [17, 8]}}
%t = mem.dma_scatter %s to %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [17, 8] : memref<16x8xf32, "L2">, memref<16xi64, "L2"> to memref<100x64xf32, "L3">

// -----

%s, %n, %x = "test.op"() : () -> (memref<16x8xf32, "L2">, memref<16xi64, "L2">, memref<100x64xf32>)
// expected-error@+1 {{expected a memory level such as "L2" in}}
%t = mem.dma_scatter %s to %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 8] : memref<16x8xf32, "L2">, memref<16xi64, "L2"> to memref<100x64xf32>

// -----

%s, %n, %x = "test.op"() : () -> (memref<16x8xf32, "L2">, memref<16xi64, "L2">, memref<100x64xf32, "L3">)
// expected-error@+1 {{expected an axis of the 2 of the destination, got -1}}
%t = mem.dma_scatter %s to %x[0, 0] axis -1 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 8] : memref<16x8xf32, "L2">, memref<16xi64, "L2"> to memref<100x64xf32, "L3">

// -----

%s, %n, %x = "test.op"() : () -> (memref<16x8xf32, "L2">, memref<16xi64, "L2">, memref<100x64xf32, "L3">)
// expected-error@+1 {{expected at least 1 iteration ahead, got 0}}
%t = mem.dma_scatter %s to %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 8] ahead 0 : memref<16x8xf32, "L2">, memref<16xi64, "L2"> to memref<100x64xf32, "L3">

// -----

%v, %n, %x = "test.op"() : () -> (tensor<16x8xf16>, tensor<16xi64>, memref<100x64xf16, "L3">)
// expected-error@+1 {{expected elements of f32, i32 or i64 to combine, got f16}}
mem.scatter %v to %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] <add> : tensor<16x8xf16>, tensor<16xi64> to memref<100x64xf16, "L3">

// -----

%v, %n, %x = "test.op"() : () -> (tensor<16x8xf32>, tensor<16xi64>, memref<100x64xi32, "L3">)
// expected-error@+1 {{cannot move elements of type f32 to or from a buffer of i32}}
mem.scatter %v to %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] <max> : tensor<16x8xf32>, tensor<16xi64> to memref<100x64xi32, "L3">

// -----

%v, %n, %x = "test.op"() : () -> (tensor<16x8xf32>, tensor<16xi64>, memref<100x64xf32, "L3">)
// expected-error@+1 {{expected offset 0 along axis 0, where the indices select elements}}
mem.scatter %v to %x[1, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] <max> : tensor<16x8xf32>, tensor<16xi64> to memref<100x64xf32, "L3">

// -----

%v, %n, %x = "test.op"() : () -> (tensor<16x8xf32>, tensor<16xi64>, memref<100x64xf32, "L3">)
// expected-error@+1 {{expected `add`, `max`, or `min`}}
mem.scatter %v to %x[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] <mul> : tensor<16x8xf32>, tensor<16xi64> to memref<100x64xf32, "L3">
