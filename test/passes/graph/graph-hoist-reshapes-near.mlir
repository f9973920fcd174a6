// RUN: tlf-opt %s --target npu -p "graph-hoist-reshapes,tidy" | filecheck %s
// RUN: tlf-opt %s --target h200 -p "graph-hoist-reshapes,tidy" | filecheck %s --check-prefix FAR

// Where tensors may stay near between groups, none is to be reshaped there: a sum along an
// axis that was merged runs along its parts.
// CHECK-LABEL: func.func @heads
// CHECK-SAME:    #graph.remark<passed "graph-hoist-reshapes" "axes are split before matmul" at "{{[0-9]+:[0-9]+}}">
// CHECK-NEXT:    [[W:%.*]] = graph.reshape %w : (tensor<24x7xf32>) -> tensor<3x8x7xf32>
// CHECK-NEXT:    [[Y:%.*]] = graph.contract %x, [[W]] maps [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>] : (tensor<5x3x8xf32>, tensor<3x8x7xf32>) -> tensor<5x7xf32>
// CHECK-NEXT:    func.return [[Y]]
// FAR-LABEL:   func.func @heads
// FAR-NEXT:      graph.reshape %x
// FAR-NEXT:      graph.matmul
func.func @heads(%x: tensor<5x3x8xf32>, %w: tensor<24x7xf32>) -> tensor<5x7xf32> {
  %0 = graph.reshape %x : (tensor<5x3x8xf32>) -> tensor<5x24xf32>
  %1 = graph.matmul %0, %w : (tensor<5x24xf32>, tensor<24x7xf32>) -> tensor<5x7xf32>
  func.return %1 : tensor<5x7xf32>
}

// Parts are cut of split axes, so that the product is split once for all of them.
// CHECK-LABEL: func.func @queries_and_keys
// CHECK:         [[W:%.*]] = graph.reshape %w : (tensor<6x24xf32>) -> tensor<6x6x4xf32>
// CHECK-NEXT:    [[P:%.*]] = graph.contract %x, [[W]]
// CHECK-NEXT:    [[Q:%.*]] = graph.slice [[P]] offsets [0, 0, 0] strides [1, 1, 1] : (tensor<5x6x4xf32>) -> tensor<5x3x4xf32>
// CHECK-NEXT:    [[K:%.*]] = graph.slice [[P]] offsets [0, 3, 0] strides [1, 1, 1] : (tensor<5x6x4xf32>) -> tensor<5x3x4xf32>
// CHECK-NEXT:    graph.contract [[Q]], [[K]]
// FAR-LABEL:   func.func @queries_and_keys
// FAR-NEXT:      graph.matmul
func.func @queries_and_keys(%x: tensor<5x6xf32>, %w: tensor<6x24xf32>) -> tensor<3x5x5xf32> {
  %0 = graph.matmul %x, %w : (tensor<5x6xf32>, tensor<6x24xf32>) -> tensor<5x24xf32>
  %1 = graph.slice %0 offsets [0, 0] strides [1, 1] : (tensor<5x24xf32>) -> tensor<5x12xf32>
  %2 = graph.reshape %1 : (tensor<5x12xf32>) -> tensor<5x3x4xf32>
  %3 = graph.slice %0 offsets [0, 12] strides [1, 1] : (tensor<5x24xf32>) -> tensor<5x12xf32>
  %4 = graph.reshape %3 : (tensor<5x12xf32>) -> tensor<5x3x4xf32>
  %5 = graph.contract %2, %4 maps [affine_map<(h, q, k, d) -> (q, h, d)>, affine_map<(h, q, k, d) -> (k, h, d)>, affine_map<(h, q, k, d) -> (h, q, k)>]
      : (tensor<5x3x4xf32>, tensor<5x3x4xf32>) -> tensor<3x5x5xf32>
  func.return %5 : tensor<3x5x5xf32>
}

// A part that starts within one of the split axes is cut before; an axis that others
// than the sum run along stays merged.
// CHECK-LABEL: func.func @stays
// CHECK-NEXT:    graph.slice %x offsets [0, 2]
// CHECK-NEXT:    graph.reshape
// CHECK-NEXT:    graph.reshape %y
// CHECK-NEXT:    graph.matmul
func.func @stays(%x: tensor<5x24xf32>, %y: tensor<2x5x8xf32>, %w: tensor<8x3xf32>)
    -> (tensor<5x3x4xf32>, tensor<10x3xf32>) {
  %0 = graph.slice %x offsets [0, 2] strides [1, 1] : (tensor<5x24xf32>) -> tensor<5x12xf32>
  %1 = graph.reshape %0 : (tensor<5x12xf32>) -> tensor<5x3x4xf32>
  %2 = graph.reshape %y : (tensor<2x5x8xf32>) -> tensor<10x8xf32>
  %3 = graph.matmul %2, %w : (tensor<10x8xf32>, tensor<8x3xf32>) -> tensor<10x3xf32>
  func.return %1, %3 : tensor<5x3x4xf32>, tensor<10x3xf32>
}
