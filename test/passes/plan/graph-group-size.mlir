// RUN: tlf-opt %s --target npu -p "graph-group{max-operations=3}" | filecheck %s

// A group holds as many operations as it may, and the next one starts another.
// CHECK-LABEL: func.func @chain
// CHECK: graph.group ins
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.tanh
// CHECK-NEXT: graph.relu
// CHECK-NEXT: graph.yield
// CHECK: graph.group ins
// CHECK-NEXT: graph.sqrt
// CHECK-NEXT: graph.log
// CHECK-NEXT: graph.yield
func.func @chain(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.exp %x : tensor<4x8xf32>
  %1 = graph.tanh %0 : tensor<4x8xf32>
  %2 = graph.relu %1 : tensor<4x8xf32>
  %3 = graph.sqrt %2 : tensor<4x8xf32>
  %y = graph.log %3 : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
