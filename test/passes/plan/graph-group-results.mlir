// RUN: tlf-opt %s --target npu -p "graph-group{level=L1}" | filecheck %s
// RUN: tlf-run %s --target npu -p %first-plans --check | filecheck %s --check-prefix=RUNS

// A slice of what is stored for others costs nothing, and runs with nothing.
// CHECK-LABEL: func.func @rotated
// CHECK:         graph.group
// CHECK-NEXT:      graph.exp
// CHECK-NEXT:      graph.yield
// CHECK:         graph.slice
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      graph.tanh
// RUNS: ok
func.func @rotated(%x: tensor<5x7xf32>) -> (tensor<5x3xf32>, tensor<5x7xf32>) {
  %c = graph.exp %x : tensor<5x7xf32>
  %d = graph.slice %c offsets [0, 0] strides [1, 1] : (tensor<5x7xf32>) -> tensor<5x3xf32>
  %y = graph.tanh %d : tensor<5x3xf32>
  func.return %y, %c : tensor<5x3xf32>, tensor<5x7xf32>
}
