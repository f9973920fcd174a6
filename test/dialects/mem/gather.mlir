// RUN: TLF_ROUNDTRIP

// Along one axis indices name the places, along the others they are offsets and a map.
%j, %x = "test.op"() : () -> (index, memref<1000x64xf32, "L3">)
%n, %s = "test.op"() : () -> (tensor<16xi64>, tensor<i32>)
// CHECK: mem.gather %x[0, %j] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 7] fill 0.0 : memref<1000x64xf32, "L3">, tensor<16xi64> -> tensor<16x8xf32>
%v = mem.gather %x[0, %j] axis 0 at %n
    maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>]
    size [16, 7] fill 0.0
    : memref<1000x64xf32, "L3">, tensor<16xi64> -> tensor<16x8xf32>
// CHECK-NEXT: mem.gather %x[-3, 0] axis 1 at %s maps [affine_map<(d0) -> ((d0 * 2), 0)>, affine_map<(d0) -> ()>] size [4] {test.hint = "a"} : memref<1000x64xf32, "L3">, tensor<i32> -> tensor<4xf32>
%w = mem.gather %x[-3, 0] axis 1 at %s
    maps [affine_map<(d0) -> (d0 * 2, 0)>, affine_map<(d0) -> ()>]
    size [4] {test.hint = "a"}
    : memref<1000x64xf32, "L3">, tensor<i32> -> tensor<4xf32>

// The same between buffers, as a move with a token.
%i, %d = "test.op"() : () -> (memref<16xi64, "L2">, memref<16x8xf32, "L2">)
// CHECK: mem.dma_gather %x[0, %j] axis 0 at %i to %d maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 7] fill 0.0 ahead 1 : memref<1000x64xf32, "L3">, memref<16xi64, "L2"> to memref<16x8xf32, "L2">
%t = mem.dma_gather %x[0, %j] axis 0 at %i to %d
    maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>]
    size [16, 7] fill 0.0 ahead 1
    : memref<1000x64xf32, "L3">, memref<16xi64, "L2"> to memref<16x8xf32, "L2">
