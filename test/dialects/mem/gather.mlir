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
