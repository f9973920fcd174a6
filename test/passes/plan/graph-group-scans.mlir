// RUN: tlf-opt %s --target h200 -p graph-group --split-input-file | filecheck %s

// Scans of one axis, and what reads or computes their elements, run in one loop.
// CHECK-LABEL: func.func @together
// CHECK:         graph.group
// CHECK-NEXT:    graph.exp
// CHECK-NEXT:    graph.cumulate
// CHECK-NEXT:    graph.cumulate
// CHECK-NOT:     graph.group
func.func @together(%x: tensor<512x4096xf32>) -> tensor<512x4096xf32> {
  %0 = graph.exp %x : tensor<512x4096xf32>
  %1 = graph.cumulate %0 <sum> axis 1 : (tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %2 = graph.cumulate %1 <max> axis 1 : (tensor<512x4096xf32>) -> tensor<512x4096xf32>
  func.return %2 : tensor<512x4096xf32>
}

// -----

// Rows would be scanned one after the other.
// CHECK-LABEL: func.func @axes
// CHECK-SAME:    "not fused with its operand: a reduction runs along a parallel axis of another one"
// CHECK:         graph.group
// CHECK:         graph.group
func.func @axes(%x: tensor<512x4096xf32>) -> tensor<512x4096xf32> {
  %1 = graph.cumulate %x <sum> axis 1 : (tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %2 = graph.cumulate %1 <sum> axis 0 : (tensor<512x4096xf32>) -> tensor<512x4096xf32>
  func.return %2 : tensor<512x4096xf32>
}

// -----

// So would be the rows that totals are added to.
// CHECK-LABEL: func.func @spread
// CHECK-SAME:    "not fused with its operand: a larger result would wait for the tiles of a scan"
func.func @spread(%x: tensor<512x1xf32>, %y: tensor<512x4096xf32>) -> tensor<512x4096xf32> {
  %1 = graph.cumulate %x <sum> axis 0 : (tensor<512x1xf32>) -> tensor<512x1xf32>
  %2 = graph.add %1, %y : (tensor<512x1xf32>, tensor<512x4096xf32>) -> tensor<512x4096xf32>
  func.return %2 : tensor<512x4096xf32>
}

// -----

// And the columns of a product.
// CHECK-LABEL: func.func @product
// CHECK-SAME:    "not fused with its operand: a reduction runs along a parallel axis of another one"
func.func @product(%x: tensor<512x256xf32>, %w: tensor<256x4096xf32>) -> tensor<512x4096xf32> {
  %1 = graph.matmul %x, %w : (tensor<512x256xf32>, tensor<256x4096xf32>) -> tensor<512x4096xf32>
  %2 = graph.cumulate %1 <sum> axis 1 : (tensor<512x4096xf32>) -> tensor<512x4096xf32>
  func.return %2 : tensor<512x4096xf32>
}
