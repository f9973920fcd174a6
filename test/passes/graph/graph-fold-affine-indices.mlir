// RUN: tlf-opt %s -p graph-fold-affine-indices,tidy --split-input-file | filecheck %s

// There are as many absolute distances as rows and columns, and one slice for each.
// CHECK-LABEL: func.func @taken
// CHECK:         graph.abs {{.*}}tensor<127xi64>
// CHECK-NEXT:    graph.take {{.*}} -> tensor<127x4xf32>
// CHECK-NEXT:    graph.unfold {{.*}} fill 0.0{{.*}} : (tensor<127x4xf32>) -> tensor<64x64x4xf32>
// CHECK-NEXT:    func.return
func.func @taken(%t: tensor<64x4xf32>) -> tensor<64x64x4xf32> {
  %i = graph.iota axis 0 : tensor<64x1xi64>
  %j = graph.iota axis 0 : tensor<64xi64>
  %0 = graph.sub %i, %j : (tensor<64x1xi64>, tensor<64xi64>) -> tensor<64x64xi64>
  %1 = graph.abs %0 : tensor<64x64xi64>
  %2 = graph.take %t, %1 axis 0 : (tensor<64x4xf32>, tensor<64x64xi64>) -> tensor<64x64x4xf32>
  func.return %2 : tensor<64x64x4xf32>
}

// -----

// A comparison costs less than a gather.
// CHECK-LABEL: func.func @mask
// CHECK-NOT:     graph.unfold
func.func @mask(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %i = graph.iota axis 0 : tensor<64x1xi64>
  %j = graph.iota axis 0 : tensor<64xi64>
  %c = graph.constant dense<0.0> : tensor<f32>
  %0 = graph.compare %i, %j <lt> : (tensor<64x1xi64>, tensor<64xi64>) -> tensor<64x64xi1>
  %1 = graph.select %0, %c, %x : (tensor<64x64xi1>, tensor<f32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %1 : tensor<64x64xf32>
}
