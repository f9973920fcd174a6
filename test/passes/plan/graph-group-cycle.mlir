// RUN: tlf-opt %s --target npu -p "graph-group{level=L1 cascades=false}" | filecheck %s

// Two groups never need a value of each other: the last operation joins the product, and
// not the reduction, which the group of the product uses.
// CHECK-LABEL: func.func @crossed
// CHECK:         graph.group
// CHECK-NEXT:      graph.reduce
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group
// CHECK-NEXT:      graph.matmul
// CHECK-NEXT:      graph.add
// CHECK-NEXT:      graph.mul
// CHECK-NEXT:      graph.yield
func.func @crossed(%x: tensor<8x8xf32>, %w: tensor<8x1xf32>)
    -> (tensor<8x1xf32>, tensor<8x1xf32>) {
  %product = graph.matmul %x, %w : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
  %total = graph.reduce %x <sum> axes [1] keepdims : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %sum = graph.add %product, %total : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
  %y = graph.mul %total, %product : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
  func.return %sum, %y : tensor<8x1xf32>, tensor<8x1xf32>
}
