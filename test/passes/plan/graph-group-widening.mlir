// RUN: tlf-opt %s --target npu -p "graph-group{level=L1 cascades=false}" --split-input-file | filecheck %s

// What is cast for a sum of rows is handed on narrow: the cast runs with the sum.
// CHECK-LABEL: func.func @handed_on
// CHECK:       graph.group ins
// CHECK:         graph.matmul
// CHECK-NEXT:    graph.relu
// CHECK-NEXT:    graph.yield {{.*}} : tensor<64x64xf16>
// CHECK:       graph.group ins
// CHECK:         graph.cast
// CHECK-NEXT:    graph.reduce
func.func @handed_on(%x: tensor<64x64xf16>, %w: tensor<64x64xf16>) -> tensor<64xf32> {
  %0 = graph.matmul %x, %w : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %1 = graph.relu %0 : tensor<64x64xf16>
  %2 = graph.cast %1 : (tensor<64x64xf16>) -> tensor<64x64xf32>
  %3 = graph.reduce %2 <sum> axes [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  func.return %3 : tensor<64xf32>
}

// -----

// What others need, too, is stored by the group that makes it.
// CHECK-LABEL: func.func @returned
// CHECK:         graph.matmul
// CHECK-NEXT:    graph.cast
// CHECK-NEXT:    graph.yield
// CHECK:       graph.group ins
// CHECK-NOT:     graph.cast
// CHECK:         graph.reduce
func.func @returned(%x: tensor<64x64xf16>, %w: tensor<64x64xf16>) -> (tensor<64xf32>, tensor<64x64xf32>) {
  %0 = graph.matmul %x, %w : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %1 = graph.cast %0 : (tensor<64x64xf16>) -> tensor<64x64xf32>
  %2 = graph.reduce %1 <sum> axes [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  func.return %2, %1 : tensor<64xf32>, tensor<64x64xf32>
}

// -----

// A cast to a narrower type stays where it makes less to hand on.
// CHECK-LABEL: func.func @narrowed
// CHECK:         graph.matmul
// CHECK-NEXT:    graph.cast
// CHECK-NEXT:    graph.yield {{.*}} : tensor<64x64xf16>
func.func @narrowed(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64xf16> {
  %0 = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.cast %0 : (tensor<64x64xf32>) -> tensor<64x64xf16>
  %2 = graph.reduce %1 <max> axes [1] : (tensor<64x64xf16>) -> tensor<64xf16>
  func.return %2 : tensor<64xf16>
}
