// RUN: tlf-opt %s -p graph-int-range-narrowing,tidy --split-input-file | filecheck %s

// Distances of rows and columns are computed in 32 bits, and so is what they name.
// CHECK-LABEL: func.func @distances
// CHECK-NOT:     i64
// CHECK:         graph.sub {{.*}} -> tensor<64x64xi32>
// CHECK-NEXT:    graph.abs {{.*}} : tensor<64x64xi32>
// CHECK-NEXT:    graph.cast {{.*}} : (tensor<64x64xi32>) -> tensor<64x64xf32>
// CHECK:         graph.take {{.*}}, tensor<64x64xi32>)
func.func @distances(%t: tensor<64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %i = graph.iota axis 0 : tensor<64x1xi64>
  %j = graph.iota axis 0 : tensor<64xi64>
  %0 = graph.sub %i, %j : (tensor<64x1xi64>, tensor<64xi64>) -> tensor<64x64xi64>
  %1 = graph.abs %0 : tensor<64x64xi64>
  %2 = graph.cast %1 : (tensor<64x64xi64>) -> tensor<64x64xf32>
  %3 = graph.take %t, %1 axis 0 : (tensor<64xf32>, tensor<64x64xi64>) -> tensor<64x64xf32>
  func.return %2, %3 : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// Products may be too large, arguments anything; what is stored keeps its type.
// CHECK-LABEL: func.func @large
// CHECK:         graph.mul {{.*}} -> tensor<4xi64>
// CHECK:         graph.add %n, {{.*}} -> tensor<4xi64>
// CHECK:         graph.add {{.*}} -> tensor<4xi32>
// CHECK-NEXT:    graph.cast {{.*}} : (tensor<4xi32>) -> tensor<4xi64>
func.func @large(%n: tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) {
  %c = graph.constant dense<2000000000> : tensor<i64>
  %i = graph.iota axis 0 : tensor<4xi64>
  %0 = graph.mul %i, %c : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %1 = graph.add %n, %i : tensor<4xi64>
  %2 = graph.add %i, %i : tensor<4xi64>
  func.return %0, %1, %2 : tensor<4xi64>, tensor<4xi64>, tensor<4xi64>
}
