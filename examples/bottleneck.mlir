// The bottleneck of a residual network: 1x1, 3x3 and 1x1 convolutions, each with batch
// normalisation, around a skip of the block's own input.
func.func @bottleneck(
    %x: tensor<2x64x30x28xf32>,
    %w_1: tensor<16x64x1x1xf32>, %w_2: tensor<16x16x3x3xf32>,
    %w_3: tensor<64x16x1x1xf32>, %mean_1: tensor<16xf32>,
    %variance_1: tensor<16xf32> {tlf.range = [0.5, 1.5]}, %gamma_1: tensor<16xf32>,
    %beta_1: tensor<16xf32>, %mean_2: tensor<16xf32>,
    %variance_2: tensor<16xf32> {tlf.range = [0.5, 1.5]}, %gamma_2: tensor<16xf32>,
    %beta_2: tensor<16xf32>, %mean_3: tensor<64xf32>,
    %variance_3: tensor<64xf32> {tlf.range = [0.5, 1.5]}, %gamma_3: tensor<64xf32>,
    %beta_3: tensor<64xf32>)
    -> tensor<2x64x30x28xf32> {
  %conv_1 = graph.conv2d %x, %w_1
      : (tensor<2x64x30x28xf32>, tensor<16x64x1x1xf32>) -> tensor<2x16x30x28xf32>
  %norm_1 = graph.batch_norm %conv_1 mean %mean_1 variance %variance_1
      weight %gamma_1 bias %beta_1 epsilon 1.0e-05
      : (tensor<2x16x30x28xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x16x30x28xf32>
  %relu_1 = graph.relu %norm_1 : tensor<2x16x30x28xf32>
  %conv_2 = graph.conv2d %relu_1, %w_2 padding [1, 1, 1, 1]
      : (tensor<2x16x30x28xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x30x28xf32>
  %norm_2 = graph.batch_norm %conv_2 mean %mean_2 variance %variance_2
      weight %gamma_2 bias %beta_2 epsilon 1.0e-05
      : (tensor<2x16x30x28xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x16x30x28xf32>
  %relu_2 = graph.relu %norm_2 : tensor<2x16x30x28xf32>
  %conv_3 = graph.conv2d %relu_2, %w_3
      : (tensor<2x16x30x28xf32>, tensor<64x16x1x1xf32>) -> tensor<2x64x30x28xf32>
  %norm_3 = graph.batch_norm %conv_3 mean %mean_3 variance %variance_3
      weight %gamma_3 bias %beta_3 epsilon 1.0e-05
      : (tensor<2x64x30x28xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x64x30x28xf32>
  %sum = graph.add %norm_3, %x
      : (tensor<2x64x30x28xf32>, tensor<2x64x30x28xf32>) -> tensor<2x64x30x28xf32>
  %y = graph.relu %sum : tensor<2x64x30x28xf32>
  func.return %y : tensor<2x64x30x28xf32>
}
