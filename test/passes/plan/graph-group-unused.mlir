// RUN: tlf-opt %s --target npu -p graph-group | filecheck %s

// An operation whose result nothing uses is left alone.
// CHECK-LABEL: func.func @unused
// CHECK-NEXT: [[S:%.*]] = graph.group
// CHECK-NEXT: graph.reduce
// CHECK: graph.exp [[S]]
// CHECK-NEXT: %y = graph.group
func.func @unused(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.reduce %x <sum> axes [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %1 = graph.exp %0 : tensor<4xf32>
  %y = graph.log %x : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
