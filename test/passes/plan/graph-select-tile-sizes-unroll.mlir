// RUN: tlf-opt %s --target h200 -p "graph-group,graph-select-tile-sizes" | filecheck %s

// Windows of neighbouring pixels overlap: a program computes alternating tiles of them.
// CHECK-LABEL: func.func @pixels
// CHECK:         graph.group {{.*}} unroll [{{[2-8]}}, 1]>
func.func @pixels(%x: tensor<32x56x56x64xf16>, %w: tensor<9x64xf16>) -> tensor<100352x64xf32> {
  %u = graph.im2col %x map affine_map<(n, h, w, p, q, c) -> (n, h + p + -1, w + q + -1, c)>
      basis [[32, 56, 56], [3, 3], [64]] fill 0.0
      : (tensor<32x56x56x64xf16>) -> tensor<100352x9x64xf16>
  %v = graph.cast %u : (tensor<100352x9x64xf16>) -> tensor<100352x9x64xf32>
  %s = graph.cast %w : (tensor<9x64xf16>) -> tensor<9x64xf32>
  %p = graph.mul %v, %s : (tensor<100352x9x64xf32>, tensor<9x64xf32>) -> tensor<100352x9x64xf32>
  %y = graph.reduce %p <sum> axes [1] : (tensor<100352x9x64xf32>) -> tensor<100352x64xf32>
  func.return %y : tensor<100352x64xf32>
}

// Of 25 elements per window, at most three tiles are computed at once.
// CHECK-LABEL: func.func @large
// CHECK:         graph.group {{.*}} unroll [{{[23]}}, 1]>
func.func @large(%x: tensor<32x40x40x64xf16>, %w: tensor<25x64xf16>) -> tensor<51200x64xf32> {
  %u = graph.im2col %x map affine_map<(n, h, w, p, q, c) -> (n, h + p + -2, w + q + -2, c)>
      basis [[32, 40, 40], [5, 5], [64]] fill 0.0
      : (tensor<32x40x40x64xf16>) -> tensor<51200x25x64xf16>
  %v = graph.cast %u : (tensor<51200x25x64xf16>) -> tensor<51200x25x64xf32>
  %s = graph.cast %w : (tensor<25x64xf16>) -> tensor<25x64xf32>
  %p = graph.mul %v, %s : (tensor<51200x25x64xf32>, tensor<25x64xf32>) -> tensor<51200x25x64xf32>
  %y = graph.reduce %p <sum> axes [1] : (tensor<51200x25x64xf32>) -> tensor<51200x64xf32>
  func.return %y : tensor<51200x64xf32>
}

// Windows that do not overlap share nothing.
// CHECK-LABEL: func.func @disjoint
// CHECK-NOT:     unroll
func.func @disjoint(%x: tensor<32x56x56x64xf16>) -> tensor<25088x64xf16> {
  %u = graph.im2col %x map affine_map<(n, h, w, p, q, c) -> (n, h * 2 + p, w * 2 + q, c)>
      basis [[32, 28, 28], [2, 2], [64]]
      fill 0.0 : (tensor<32x56x56x64xf16>) -> tensor<25088x4x64xf16>
  %y = graph.reduce %u <max> axes [1] : (tensor<25088x4x64xf16>) -> tensor<25088x64xf16>
  func.return %y : tensor<25088x64xf16>
}

// Pixels that are contiguous in memory stay next to each other.
// CHECK-LABEL: func.func @contiguous
// CHECK-NOT:     unroll
func.func @contiguous(%x: tensor<32x64x56x56xf32>) -> tensor<32x64x3136xf32> {
  %u = graph.im2col %x map affine_map<(n, c, p, q, h, w) -> (n, c, h + p + -1, w + q + -1)>
      basis [[32], [64], [3, 3], [56, 56]] fill 0.0
      : (tensor<32x64x56x56xf32>) -> tensor<32x64x9x3136xf32>
  %y = graph.reduce %u <sum> axes [2] : (tensor<32x64x9x3136xf32>) -> tensor<32x64x3136xf32>
  func.return %y : tensor<32x64x3136xf32>
}
