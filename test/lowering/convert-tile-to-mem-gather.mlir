// RUN: tlf-opt %s --target h200 -p convert-tile-to-mem | filecheck %s

// A tile of values is loaded through its indices.
// CHECK-LABEL: func.func @embed
// CHECK:       ^{{.*}}([[I:%.*]]: index):
// CHECK-NEXT:    [[N:%.*]] = mem.load %n[[[I]]] size [16]
// CHECK-NEXT:    [[T:%.*]] = mem.gather %t[0, 0] axis 0 at [[N]] maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 60] fill 0.0 : memref<500x60xf32, "L3">, tensor<16xi64, #tile.encoding<L1>> -> tensor<16x64xf32, #tile.encoding<L1>>
// CHECK-NEXT:    mem.store [[T]]
func.func @embed(%t: tensor<500x60xf32>, %n: tensor<37xi64>) -> tensor<37x60xf32> {
  %e = tile.empty : tensor<37x60xf32>
  %y = tile.while (%i = 0 to 37 step 16) parallel mapping(grid) into(%o = %e : tensor<37x60xf32>) {
    %m = tile.slice %n[%i] : tensor<37xi64> -> tensor<16xi64, #tile.encoding<L1>>
    %v = tile.gather %t[0, 0] axis 0 at %m
        maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] valid [16, 60] fill 0.0 : f32
        : tensor<500x60xf32>, tensor<16xi64, #tile.encoding<L1>> -> tensor<16x64xf32, #tile.encoding<L1>>
    %d = tile.deslice %v into %o[%i, 0] valid [16, 60] : tensor<16x64xf32, #tile.encoding<L1>> into tensor<37x60xf32>
    tile.yield %d : tensor<37x60xf32>
  }
  func.return %y : tensor<37x60xf32>
}
