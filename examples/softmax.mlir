// Softmax along rows: two reductions and what lies between them, row by row.
func.func @softmax(%x: tensor<300x1000xf32>) -> tensor<300x1000xf32> {
  %y = graph.softmax %x axis 1
      : (tensor<300x1000xf32>) -> tensor<300x1000xf32>
  func.return %y : tensor<300x1000xf32>
}
