// RUN: tlf-opt %s -p graph-fold-transposes | filecheck %s
// RUN: tlf-opt %s --target h200 -p "graph-pipeline,graph-unfold-windows,tidy,graph-group" | filecheck %s --check-prefix GROUPS

// One head of keys and values for all of queries is multiplied without an axis for it,
// and without moving it; so all of the attention is one group.
// CHECK-LABEL: func.func @one_head
// CHECK-SAME:    #graph.remark<passed "graph-fold-transposes" "matmul is without axes of extent 1" at "%s", "%y">
// CHECK-SAME:    #graph.remark<passed "graph-fold-transposes" "contract reads through a transpose" at "%s">
// CHECK:         [[KEYS:%.*]] = graph.reshape %k : (tensor<1x1x128x64xf16>) -> tensor<1x128x64xf16>
// CHECK-NEXT:    %s = graph.contract %q, [[KEYS]] maps [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>]
// GROUPS-LABEL: func.func @one_head
// GROUPS:        = graph.group
// GROUPS-NOT:    = graph.group
// GROUPS:      func.func @of_a_batch
func.func @one_head(%q: tensor<1x8x128x64xf16>, %k: tensor<1x1x128x64xf16>, %v: tensor<1x1x128x64xf16>, %mask: tensor<128x128xi1>) -> tensor<1x8x128x64xf16> {
  %kt = graph.transpose %k permutation [0, 1, 3, 2] : (tensor<1x1x128x64xf16>) -> tensor<1x1x64x128xf16>
  %s = graph.matmul %q, %kt : (tensor<1x8x128x64xf16>, tensor<1x1x64x128xf16>) -> tensor<1x8x128x128xf16>
  %ninf = graph.constant dense<0xFC00> : tensor<f16>
  %m = graph.select %mask, %s, %ninf : (tensor<128x128xi1>, tensor<1x8x128x128xf16>, tensor<f16>) -> tensor<1x8x128x128xf16>
  %p = graph.softmax %m axis 3 : (tensor<1x8x128x128xf16>) -> tensor<1x8x128x128xf16>
  %y = graph.matmul %p, %v : (tensor<1x8x128x128xf16>, tensor<1x1x128x64xf16>) -> tensor<1x8x128x64xf16>
  func.return %y : tensor<1x8x128x64xf16>
}

// So is one of each batch,
// CHECK-LABEL: func.func @of_a_batch
// CHECK:         [[KEYS:%.*]] = graph.reshape %k : (tensor<2x1x16x4xf32>) -> tensor<2x16x4xf32>
// CHECK-NEXT:    %s = graph.contract %q, [[KEYS]] maps [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>]
func.func @of_a_batch(%q: tensor<2x8x16x4xf32>, %k: tensor<2x1x16x4xf32>) -> tensor<2x8x16x16xf32> {
  %kt = graph.transpose %k permutation [0, 1, 3, 2] : (tensor<2x1x16x4xf32>) -> tensor<2x1x4x16xf32>
  %s = graph.matmul %q, %kt : (tensor<2x8x16x4xf32>, tensor<2x1x4x16xf32>) -> tensor<2x8x16x16xf32>
  func.return %s : tensor<2x8x16x16xf32>
}

// but not what a window of one element reads.
// CHECK-LABEL: func.func @window
// CHECK-SAME:    "transpose before conv2d is not folded: the conv2d has windows"
// CHECK:         graph.conv2d
func.func @window(%x: tensor<1x5x5x4xf32>, %w: tensor<6x4x1x1xf32>) -> tensor<1x6x5x5xf32> {
  %t = graph.transpose %x permutation [0, 3, 1, 2] : (tensor<1x5x5x4xf32>) -> tensor<1x4x5x5xf32>
  %y = graph.conv2d %t, %w : (tensor<1x4x5x5xf32>, tensor<6x4x1x1xf32>) -> tensor<1x6x5x5xf32>
  func.return %y : tensor<1x6x5x5xf32>
}
