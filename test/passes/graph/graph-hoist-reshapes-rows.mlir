// RUN: tlf-opt %s -p "graph-hoist-reshapes,dce" | filecheck %s

// Elementwise operations read the transposed tensor beside its halves, so that it is not stored.
// CHECK-LABEL: func.func @rotated
// CHECK-DAG:     %[[LEFT:.*]] = graph.slice %x offsets [0, 0, 0, 0]
// CHECK-DAG:     graph.transpose %[[LEFT]] permutation [0, 2, 1, 3]
// CHECK-DAG:     %[[RIGHT:.*]] = graph.slice %x offsets [0, 0, 0, 8]
// CHECK-DAG:     graph.transpose %[[RIGHT]] permutation [0, 2, 1, 3]
// CHECK:         graph.concat
func.func @rotated(%x: tensor<2x12x4x16xf32>, %c: tensor<12x16xf32>) -> tensor<2x4x12x16xf32> {
  %t = graph.transpose %x permutation [0, 2, 1, 3] : (tensor<2x12x4x16xf32>) -> tensor<2x4x12x16xf32>
  %l = graph.slice %t offsets [0, 0, 0, 0] strides [1, 1, 1, 1] : (tensor<2x4x12x16xf32>) -> tensor<2x4x12x8xf32>
  %r = graph.slice %t offsets [0, 0, 0, 8] strides [1, 1, 1, 1] : (tensor<2x4x12x16xf32>) -> tensor<2x4x12x8xf32>
  %n = graph.neg %r : tensor<2x4x12x8xf32>
  %d = graph.concat %n, %l axis 3 : (tensor<2x4x12x8xf32>, tensor<2x4x12x8xf32>) -> tensor<2x4x12x16xf32>
  %m = graph.mul %t, %c : (tensor<2x4x12x16xf32>, tensor<12x16xf32>) -> tensor<2x4x12x16xf32>
  %y = graph.add %m, %d : (tensor<2x4x12x16xf32>, tensor<2x4x12x16xf32>) -> tensor<2x4x12x16xf32>
  func.return %y : tensor<2x4x12x16xf32>
}

// Rows of this transpose are not contiguous in its operand.
// CHECK-LABEL: func.func @columns
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %x
// CHECK-NEXT:    graph.slice %[[T]]
func.func @columns(%x: tensor<12x16xf32>) -> (tensor<16x12xf32>, tensor<16x4xf32>) {
  %t = graph.transpose %x permutation [1, 0] : (tensor<12x16xf32>) -> tensor<16x12xf32>
  %s = graph.slice %t offsets [0, 8] strides [1, 1] : (tensor<16x12xf32>) -> tensor<16x4xf32>
  %e = graph.exp %t : tensor<16x12xf32>
  %n = graph.neg %s : tensor<16x4xf32>
  func.return %e, %n : tensor<16x12xf32>, tensor<16x4xf32>
}

// A gather needs the transposed tensor in memory.
// CHECK-LABEL: func.func @stored
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %x
// CHECK-NEXT:    graph.slice %[[T]]
func.func @stored(%x: tensor<12x4x16xf32>, %i: tensor<3xi32>) -> (tensor<3x12x16xf32>, tensor<4x12x8xf32>) {
  %t = graph.transpose %x permutation [1, 0, 2] : (tensor<12x4x16xf32>) -> tensor<4x12x16xf32>
  %s = graph.slice %t offsets [0, 0, 8] strides [1, 1, 1] : (tensor<4x12x16xf32>) -> tensor<4x12x8xf32>
  %g = graph.take %t, %i axis 0 : (tensor<4x12x16xf32>, tensor<3xi32>) -> tensor<3x12x16xf32>
  %n = graph.neg %s : tensor<4x12x8xf32>
  func.return %g, %n : tensor<3x12x16xf32>, tensor<4x12x8xf32>
}
