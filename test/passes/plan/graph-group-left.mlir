// RUN: tlf-opt %s --target npu -p "graph-pipeline,graph-group{level=L2},graph-select-tile-sizes{level=L2}" | filecheck %s

// What hands on more than it takes goes over to the group that reads it only where what
// is left can be tiled without it: columns and rows of extremes follow no common tiles.
// CHECK-LABEL: func.func @extremes
// CHECK-NOT:     graph.yield {{.*}} : tensor<1x6xi64>, {{.*}}tensor<4x1x
// CHECK:         func.return
func.func @extremes(%x: tensor<4x6xf32>) -> (tensor<4x1xf32>, tensor<4x1xi64>, tensor<1x6xf32>, tensor<1x6xi64>) {
  %v, %i = graph.sort %x axis 1 descending : (tensor<4x6xf32>) -> (tensor<4x1xf32>, tensor<4x1xi64>)
  %w, %j = graph.sort %x axis 0 descending : (tensor<4x6xf32>) -> (tensor<1x6xf32>, tensor<1x6xi64>)
  func.return %v, %i, %w, %j : tensor<4x1xf32>, tensor<4x1xi64>, tensor<1x6xf32>, tensor<1x6xi64>
}
