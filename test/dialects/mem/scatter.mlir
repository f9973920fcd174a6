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
