// The bottleneck of a residual network: 1x1, 3x3 and 1x1 convolutions, each with batch
// normalisation, around a skip of the block's own input.
func.func @bottleneck(
    %x: tensor<2x64x30x28xf32>,
    %w1: tensor<16x64x1x1xf32> {tlf.parameter, tlf.range = [-0.125, 0.125]},
    %w2: tensor<16x16x3x3xf32> {tlf.parameter, tlf.range = [-0.083, 0.083]},
    %w3: tensor<64x16x1x1xf32> {tlf.parameter, tlf.range = [-0.25, 0.25]},
    %mean1: tensor<16xf32> {tlf.parameter},
    %variance1: tensor<16xf32> {tlf.parameter, tlf.range = [0.5, 1.5]},
    %gamma1: tensor<16xf32> {tlf.parameter},
    %beta1: tensor<16xf32> {tlf.parameter},
    %mean2: tensor<16xf32> {tlf.parameter},
    %variance2: tensor<16xf32> {tlf.parameter, tlf.range = [0.5, 1.5]},
    %gamma2: tensor<16xf32> {tlf.parameter},
    %beta2: tensor<16xf32> {tlf.parameter},
    %mean3: tensor<64xf32> {tlf.parameter},
    %variance3: tensor<64xf32> {tlf.parameter, tlf.range = [0.5, 1.5]},
    %gamma3: tensor<64xf32> {tlf.parameter},
    %beta3: tensor<64xf32> {tlf.parameter})
    -> tensor<2x64x30x28xf32> {
  %conv1 = graph.conv2d %x, %w1
      : (tensor<2x64x30x28xf32>, tensor<16x64x1x1xf32>) -> tensor<2x16x30x28xf32>
  %norm1 = graph.batch_norm %conv1 mean %mean1 variance %variance1
      weight %gamma1 bias %beta1 epsilon 1.0e-05
      : (tensor<2x16x30x28xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x16x30x28xf32>
  %relu1 = graph.relu %norm1 : tensor<2x16x30x28xf32>
  %conv2 = graph.conv2d %relu1, %w2 padding [1, 1, 1, 1]
      : (tensor<2x16x30x28xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x30x28xf32>
  %norm2 = graph.batch_norm %conv2 mean %mean2 variance %variance2
      weight %gamma2 bias %beta2 epsilon 1.0e-05
      : (tensor<2x16x30x28xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x16x30x28xf32>
  %relu2 = graph.relu %norm2 : tensor<2x16x30x28xf32>
  %conv3 = graph.conv2d %relu2, %w3
      : (tensor<2x16x30x28xf32>, tensor<64x16x1x1xf32>) -> tensor<2x64x30x28xf32>
  %norm3 = graph.batch_norm %conv3 mean %mean3 variance %variance3
      weight %gamma3 bias %beta3 epsilon 1.0e-05
      : (tensor<2x64x30x28xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x64x30x28xf32>
  %sum = graph.add %norm3, %x
      : (tensor<2x64x30x28xf32>, tensor<2x64x30x28xf32>) -> tensor<2x64x30x28xf32>
  %y = graph.relu %sum : tensor<2x64x30x28xf32>
  func.return %y : tensor<2x64x30x28xf32>
}
