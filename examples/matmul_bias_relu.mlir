// A matrix product with its epilogue: bias and activation stay on the tile.
func.func @matmul_bias_relu(%x: tensor<250x300xf32>, %w: tensor<300x200xf32>,
                            %bias: tensor<200xf32>) -> tensor<250x200xf32> {
  %0 = graph.matmul %x, %w
      : (tensor<250x300xf32>, tensor<300x200xf32>) -> tensor<250x200xf32>
  %1 = graph.add %0, %bias
      : (tensor<250x200xf32>, tensor<200xf32>) -> tensor<250x200xf32>
  %y = graph.relu %1 : tensor<250x200xf32>
  func.return %y : tensor<250x200xf32>
}
