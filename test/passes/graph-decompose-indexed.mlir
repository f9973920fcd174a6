// RUN: tlf-opt %s -p graph-decompose | filecheck %s
// RUN: tlf-opt %s --target npu -p graph-decompose | filecheck %s
// RUN: tlf-opt %s --target h200 -p graph-decompose | filecheck %s --check-prefix=LOADS

// Without indexed loads an index is compared with all there are.
// CHECK-LABEL: func.func @rows
// CHECK-NOT:     graph.take
// CHECK:         graph.compare {{.*}} <eq>
// CHECK-NOT:     graph.gather
// LOADS:         take stays: loads follow its indices
// LOADS:         graph.take
// LOADS-NEXT:    graph.gather
// LOADS-NEXT:    func.return
func.func @rows(%t: tensor<9x4xf32>, %n: tensor<5xi64>, %m: tensor<5x2xi32>) -> tensor<5x2xf32> {
  %0 = graph.take %t, %n axis 0 : (tensor<9x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
  %1 = graph.gather %0, %m axis 1 : (tensor<5x4xf32>, tensor<5x2xi32>) -> tensor<5x2xf32>
  func.return %1 : tensor<5x2xf32>
}
