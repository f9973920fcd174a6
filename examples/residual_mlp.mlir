// Two linear layers with an activation between them, and a residual connection around
// both.
func.func @residual_mlp(
    %x: tensor<70x96xf32>,
    %w1: tensor<96x200xf32> {tlf.parameter, tlf.range = [-0.102, 0.102]},
    %b1: tensor<200xf32>,
    %w2: tensor<200x96xf32> {tlf.parameter, tlf.range = [-0.071, 0.071]},
    %b2: tensor<96xf32>)
    -> tensor<70x96xf32> {
  %0 = graph.matmul %x, %w1
      : (tensor<70x96xf32>, tensor<96x200xf32>) -> tensor<70x200xf32>
  %1 = graph.add %0, %b1 : (tensor<70x200xf32>, tensor<200xf32>) -> tensor<70x200xf32>
  %2 = graph.silu %1 : tensor<70x200xf32>
  %3 = graph.matmul %2, %w2
      : (tensor<70x200xf32>, tensor<200x96xf32>) -> tensor<70x96xf32>
  %4 = graph.add %3, %b2 : (tensor<70x96xf32>, tensor<96xf32>) -> tensor<70x96xf32>
  %y = graph.add %x, %4 : (tensor<70x96xf32>, tensor<70x96xf32>) -> tensor<70x96xf32>
  func.return %y : tensor<70x96xf32>
}
