// Layer normalisation of every row, with weight and bias.
func.func @layer_norm(%x: tensor<300x1000xf32>, %weight: tensor<1000xf32>,
                      %bias: tensor<1000xf32>) -> tensor<300x1000xf32> {
  %y = graph.layer_norm %x weight %weight bias %bias epsilon 1.0e-05
      : (tensor<300x1000xf32>, tensor<1000xf32>, tensor<1000xf32>)
      -> tensor<300x1000xf32>
  func.return %y : tensor<300x1000xf32>
}
