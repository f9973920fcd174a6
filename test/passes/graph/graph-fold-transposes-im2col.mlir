// RUN: tlf-opt %s -p graph-fold-transposes | filecheck %s

// Windows read as rows stay a gather, which a product does not absorb.
// CHECK-LABEL: func.func @rows
// CHECK-SAME:    "im2col before contract is not folded: an axis is sliced, padded or a window"
// CHECK-NEXT:    graph.im2col
// CHECK-NEXT:    graph.contract
func.func @rows(%x: tensor<1x9x16xf32>, %w: tensor<8x48xf32>) -> tensor<7x8xf32> {
  %u = graph.im2col %x map affine_map<(h, r, c) -> (0, h + r, c)> basis [[7], [3, 16]] fill 0.0 : (tensor<1x9x16xf32>) -> tensor<7x48xf32>
  %y = graph.contract %u, %w maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
      : (tensor<7x48xf32>, tensor<8x48xf32>) -> tensor<7x8xf32>
  func.return %y : tensor<7x8xf32>
}
