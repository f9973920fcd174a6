// RUN: TLF_ROUNDTRIP

%j, %s, %n, %x = "test.op"() : () -> (index, memref<16x8xf32, "L2">, memref<16xi64, "L2">, memref<100x64xf32, "L3">)
// CHECK: mem.dma_scatter %s to %x[0, %j] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 8] accumulate : memref<16x8xf32, "L2">, memref<16xi64, "L2"> to memref<100x64xf32, "L3">
%t = mem.dma_scatter %s to %x[0, %j] axis 0 at %n
    maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 8] accumulate
    : memref<16x8xf32, "L2">, memref<16xi64, "L2"> to memref<100x64xf32, "L3">
// CHECK-NEXT: mem.dma_scatter %s to %x[0, 3] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [9, 8] ahead 2 : memref<16x8xf32, "L2">, memref<16xi64, "L2"> to memref<100x64xf32, "L3">
%u = mem.dma_scatter %s to %x[0, 3] axis 0 at %n
    maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [9, 8] ahead 2
    : memref<16x8xf32, "L2">, memref<16xi64, "L2"> to memref<100x64xf32, "L3">
// Values are combined with elements of a buffer, in any order.
%v, %i = "test.op"() : () -> (tensor<16x8xf32>, tensor<16xi64>)
// CHECK: mem.scatter %v to %x[0, %j] axis 0 at %i maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] <add> : tensor<16x8xf32>, tensor<16xi64> to memref<100x64xf32, "L3">
mem.scatter %v to %x[0, %j] axis 0 at %i
    maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] <add>
    : tensor<16x8xf32>, tensor<16xi64> to memref<100x64xf32, "L3">
// CHECK-NEXT: mem.scatter %v to %x[3, 0] axis 1 at %i maps [affine_map<(d0, d1) -> (d1, 0)>, affine_map<(d0, d1) -> (d0)>] <min> {test.hint = "a"} : tensor<16x8xf32>, tensor<16xi64> to memref<100x64xf32, "L3">
mem.scatter %v to %x[3, 0] axis 1 at %i
    maps [affine_map<(d0, d1) -> (d1, 0)>, affine_map<(d0, d1) -> (d0)>] <min> {test.hint = "a"}
    : tensor<16x8xf32>, tensor<16xi64> to memref<100x64xf32, "L3">
