// RUN: TLF_ROUNDTRIP

// Along one axis indices name the places, along the others they are offsets and a map.
%j, %x, %t = "test.op"() : () -> (index, tensor<100x64xf32>, tensor<16x8xf32, #tile.encoding<L2>>)
%n, %m = "test.op"() : () -> (tensor<16xi64, #tile.encoding<L2>>, tensor<16x8xi32>)
// CHECK: tile.scatter %t into %x[0, %j] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] accumulate : tensor<16x8xf32, #tile.encoding<L2>>, tensor<16xi64, #tile.encoding<L2>> into tensor<100x64xf32>
%y = tile.scatter %t into %x[0, %j] axis 0 at %n
    maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] accumulate
    : tensor<16x8xf32, #tile.encoding<L2>>, tensor<16xi64, #tile.encoding<L2>> into tensor<100x64xf32>
// CHECK-NEXT: tile.scatter %t into %y[4, 0] axis 1 at %m maps [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>] {test.hint = "a"} : tensor<16x8xf32, #tile.encoding<L2>>, tensor<16x8xi32> into tensor<100x64xf32>
%z = tile.scatter %t into %y[4, 0] axis 1 at %m
    maps [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>] {test.hint = "a"}
    : tensor<16x8xf32, #tile.encoding<L2>>, tensor<16x8xi32> into tensor<100x64xf32>
// Iterations of a parallel loop combine with the same elements, in any order.
// CHECK: tile.while
// CHECK-NEXT: tile.scatter %t into %o[0, 0] axis 0 at %n maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] combine <max> : tensor<16x8xf32, #tile.encoding<L2>>, tensor<16xi64, #tile.encoding<L2>> into tensor<100x64xf32>
%w = tile.while (%k = 0 to 3 step 1) parallel mapping(grid) into(%o = %z : tensor<100x64xf32>) {
  %1 = tile.scatter %t into %o[0, 0] axis 0 at %n
      maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] combine <max>
      : tensor<16x8xf32, #tile.encoding<L2>>, tensor<16xi64, #tile.encoding<L2>> into tensor<100x64xf32>
  tile.yield %1 : tensor<100x64xf32>
}
