// RUN: tlf-opt %s --target h200 -p graph-split-k-reductions | filecheck %s

// Parts of a product read parts of the windows, which are windows, too: the number of
// parts divides the digits of a column, here the offsets in a window.
// CHECK-LABEL: func.func @conv
// CHECK-SAME:    "contract of 4608 elements is computed of [[P:(9|18|36|72)]] parts"
// CHECK-NEXT:    [[U:%.*]] = graph.im2col %x map {{.*}} basis {{.*}} fill 0.000000e+00 : (tensor<1x7x7x512xbf16>) -> tensor<49x[[P]]x[[L:[0-9]+]]xbf16>
// CHECK-NEXT:    [[W:%.*]] = graph.reshape %w : (tensor<512x4608xbf16>) -> tensor<512x[[P]]x[[L]]xbf16>
// CHECK-NEXT:    graph.contract [[U]], [[W]]
func.func @conv(%x: tensor<1x7x7x512xbf16>, %w: tensor<512x4608xbf16>) -> tensor<49x512xf32> {
  %u = graph.im2col %x map affine_map<(n, h, w, r, s, c) -> (n, h + r - 1, w + s - 1, c)> basis [[1, 7, 7], [3, 3, 512]] fill 0.0
      : (tensor<1x7x7x512xbf16>) -> tensor<49x4608xbf16>
  %y = graph.contract %u, %w maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>] acc f32
      : (tensor<49x4608xbf16>, tensor<512x4608xbf16>) -> tensor<49x512xf32>
  func.return %y : tensor<49x512xf32>
}
