// RUN: TLF_ROUNDTRIP

// Along one axis indices name the places, along the others they are offsets and a map.
%j, %x = "test.op"() : () -> (index, tensor<100x64xf32>)
%n, %m = "test.op"() : () -> (tensor<16xi64, #tile.encoding<L1>>, tensor<4x8xi32, #tile.encoding<L1>>)
// CHECK: tile.gather %x[0, %j] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] fill 0.000000e+00 : f32 : tensor<100x64xf32>, tensor<16xi64, #tile.encoding<L1>> -> tensor<16x8xf32, #tile.encoding<L1>>
%t = tile.gather %x[0, %j] axis 0 at %n
    maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] fill 0.0 : f32
    : tensor<100x64xf32>, tensor<16xi64, #tile.encoding<L1>> -> tensor<16x8xf32, #tile.encoding<L1>>
// CHECK-NEXT: tile.gather %x[-1, 0] axis 1 at %m maps [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>] valid [3, 8] {test.hint = "a"} : tensor<100x64xf32>, tensor<4x8xi32, #tile.encoding<L1>> -> tensor<4x8xf32, #tile.encoding<L1>>
%u = tile.gather %x[-1, 0] axis 1 at %m
    maps [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>] valid [3, 8] {test.hint = "a"}
    : tensor<100x64xf32>, tensor<4x8xi32, #tile.encoding<L1>> -> tensor<4x8xf32, #tile.encoding<L1>>

// -----

// One index for all of a tile.
%x, %n = "test.op"() : () -> (tensor<100x64xi1>, tensor<i32>)
// CHECK: tile.gather %x[0, 0] axis 0 at %n maps [affine_map<(d0) -> (0, d0)>, affine_map<(d0) -> ()>] fill true : tensor<100x64xi1>, tensor<i32> -> tensor<64xi1>
%t = tile.gather %x[0, 0] axis 0 at %n
    maps [affine_map<(d0) -> (0, d0)>, affine_map<(d0) -> ()>] fill true
    : tensor<100x64xi1>, tensor<i32> -> tensor<64xi1>
