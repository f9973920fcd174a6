// RUN: tlf-opt %s --target h200 -p convert-tile-to-mem | filecheck %s

// A tile of windows is a load of the buffer.
// CHECK-LABEL: func.func @rows
// CHECK:       ^{{.*}}([[I:%.*]]: index):
// CHECK-NEXT:    [[T:%.*]] = mem.im2col %x[[[I]], 0] map affine_map<(d0, d1, d2) -> ((d0 + d1), d2)> basis [[37], [3, 20]] size [16, 60] fill 1.5 : memref<39x20xf32, "L3"> -> tensor<16x64xf32, #tile.encoding<L1>>
// CHECK-NEXT:    mem.store [[T]]
func.func @rows(%x: tensor<39x20xf32>) -> tensor<37x60xf32> {
  %e = tile.empty : tensor<37x60xf32>
  %y = tile.while (%i = 0 to 37 step 16) parallel mapping(grid) into(%o = %e : tensor<37x60xf32>) {
    %v = tile.im2col %x[%i, 0] map affine_map<(h, r, c) -> (h + r, c)> basis [[37], [3, 20]] valid [16, 60] fill 1.5 : f32
        : tensor<39x20xf32> -> tensor<16x64xf32, #tile.encoding<L1>>
    %d = tile.deslice %v into %o[%i, 0] valid [16, 60] : tensor<16x64xf32, #tile.encoding<L1>> into tensor<37x60xf32>
    tile.yield %d : tensor<37x60xf32>
  }
  func.return %y : tensor<37x60xf32>
}
