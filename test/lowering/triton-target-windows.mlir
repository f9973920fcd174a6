// RUN: tlf-opt %s --target h200 -p triton-pipeline -t "triton{parts=source}" | filecheck %s

// Elements of windows are loaded in an unrolled loop, all in one layout: an alignment that only some of
// them have is hidden.

// CHECK:      for k0 in tl.static_range(0, 8, 1):
// CHECK:        tl.load(tl.multiple_of(p0 + {{.*}}, [4]), mask=
func.func @f(%x: tensor<64x128x65536xf32>) -> tensor<64x128x65537xf32> {
  %0 = graph.unfold %x map affine_map<(d0, d1, d2, d3) -> (d0, d1, d3 + d2 - 4)> fill 0.0
      : (tensor<64x128x65536xf32>) -> tensor<64x128x8x65537xf32>
  %1 = graph.reduce %0 <sum> axes [2] : (tensor<64x128x8x65537xf32>) -> tensor<64x128x65537xf32>
  func.return %1 : tensor<64x128x65537xf32>
}
