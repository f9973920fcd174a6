// RUN: tlf-opt %s -p graph-fold-transposes | filecheck %s

// What a product reads and writes through.
// CHECK:      func.func @folded
// CHECK-SAME:   #graph.remark<passed "graph-fold-transposes" "matmul reads through a transpose" at "%product">
// CHECK-SAME:   #graph.remark<passed "graph-fold-transposes" "contract writes through a transpose" at "%product">
// CHECK-NOT:    remark
func.func @folded(%x: tensor<5x12xf32>, %w: tensor<7x12xf32>) -> tensor<7x5xf32> {
  %moved = graph.transpose %w permutation [1, 0] : (tensor<7x12xf32>) -> tensor<12x7xf32>
  %product = graph.matmul %x, %moved : (tensor<5x12xf32>, tensor<12x7xf32>) -> tensor<5x7xf32>
  %result = graph.transpose %product permutation [1, 0] : (tensor<5x7xf32>) -> tensor<7x5xf32>
  func.return %result : tensor<7x5xf32>
}

// Why movements stay.
// CHECK:      func.func @stays
// CHECK-SAME:   #graph.remark<missed "graph-fold-transposes" "broadcast before matmul is not folded: an axis of extent 1 is repeated" at "%repeated">
// CHECK-SAME:   #graph.remark<missed "graph-fold-transposes" "slice before matmul is not folded: an axis is sliced, padded or a window" at "%repeated">
// CHECK-SAME:   #graph.remark<missed "graph-fold-transposes" "transpose after matmul is not folded: the result has other users" at "%turned">
// CHECK-SAME:   #graph.remark<missed "graph-fold-transposes" "transpose before matmul is not folded: the matmul starts from a tensor" at "%started">
// CHECK-SAME:   #graph.remark<missed "graph-fold-transposes" "broadcast after matmul is not folded: the result is repeated" at "%copies">
// CHECK-NOT:    remark
func.func @stays(%x: tensor<5x1xf32>, %w: tensor<13x7xf32>, %v: tensor<7x5xf32>, %z: tensor<5x5xf32>)
    -> (tensor<5x7xf32>, tensor<7x5xf32>, tensor<3x5x5xf32>) {
  %0 = graph.broadcast %x : (tensor<5x1xf32>) -> tensor<5x12xf32>
  %1 = graph.slice %w offsets [1, 0] strides [1, 1] : (tensor<13x7xf32>) -> tensor<12x7xf32>
  %repeated = graph.matmul %0, %1 : (tensor<5x12xf32>, tensor<12x7xf32>) -> tensor<5x7xf32>
  %turned = graph.transpose %repeated permutation [1, 0] : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %2 = graph.transpose %v permutation [1, 0] : (tensor<7x5xf32>) -> tensor<5x7xf32>
  %started = graph.matmul %2, %turned init %z
      : (tensor<5x7xf32>, tensor<7x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %plain = graph.matmul %repeated, %v : (tensor<5x7xf32>, tensor<7x5xf32>) -> tensor<5x5xf32>
  %sum = graph.add %plain, %started : tensor<5x5xf32>
  %again = graph.matmul %sum, %sum : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %copies = graph.broadcast %again : (tensor<5x5xf32>) -> tensor<3x5x5xf32>
  func.return %repeated, %turned, %copies : tensor<5x7xf32>, tensor<7x5xf32>, tensor<3x5x5xf32>
}
