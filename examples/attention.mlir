// Attention of several heads with a mask that is added to the scores.
func.func @attention(%q: tensor<2x3x50x24xf32>, %k: tensor<2x3x50x24xf32>,
                     %v: tensor<2x3x50x24xf32>, %mask: tensor<50x50xf32>)
    -> tensor<2x3x50x24xf32> {
  %scale = graph.constant dense<0.2041241> : tensor<f32>
  %keys = graph.transpose %k permutation [0, 1, 3, 2]
      : (tensor<2x3x50x24xf32>) -> tensor<2x3x24x50xf32>
  %products = graph.matmul %q, %keys
      : (tensor<2x3x50x24xf32>, tensor<2x3x24x50xf32>) -> tensor<2x3x50x50xf32>
  %scaled = graph.mul %products, %scale
      : (tensor<2x3x50x50xf32>, tensor<f32>) -> tensor<2x3x50x50xf32>
  %scores = graph.add %scaled, %mask
      : (tensor<2x3x50x50xf32>, tensor<50x50xf32>) -> tensor<2x3x50x50xf32>
  %weights = graph.softmax %scores axis 3
      : (tensor<2x3x50x50xf32>) -> tensor<2x3x50x50xf32>
  %y = graph.matmul %weights, %v
      : (tensor<2x3x50x50xf32>, tensor<2x3x50x24xf32>) -> tensor<2x3x50x24xf32>
  func.return %y : tensor<2x3x50x24xf32>
}
