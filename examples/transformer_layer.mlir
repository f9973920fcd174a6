// One layer of a transformer encoder with pre-normalisation: attention of 4 heads, then two
// linear layers around a GELU, each with a residual connection.
func.func @transformer_layer(
    %x: tensor<2x100x192xf32>,
    %w_q: tensor<192x192xf32> {tlf.parameter, tlf.range = [-0.072, 0.072]},
    %b_q: tensor<192xf32> {tlf.parameter, tlf.range = [-0.072, 0.072]},
    %w_k: tensor<192x192xf32> {tlf.parameter, tlf.range = [-0.072, 0.072]},
    %b_k: tensor<192xf32> {tlf.parameter, tlf.range = [-0.072, 0.072]},
    %w_v: tensor<192x192xf32> {tlf.parameter, tlf.range = [-0.072, 0.072]},
    %b_v: tensor<192xf32> {tlf.parameter, tlf.range = [-0.072, 0.072]},
    %w_o: tensor<192x192xf32> {tlf.parameter, tlf.range = [-0.072, 0.072]},
    %b_o: tensor<192xf32> {tlf.parameter, tlf.range = [-0.072, 0.072]},
    %w1: tensor<192x768xf32> {tlf.parameter, tlf.range = [-0.072, 0.072]},
    %b1: tensor<768xf32> {tlf.parameter, tlf.range = [-0.072, 0.072]},
    %w2: tensor<768x192xf32> {tlf.parameter, tlf.range = [-0.036, 0.036]},
    %b2: tensor<192xf32> {tlf.parameter, tlf.range = [-0.036, 0.036]},
    %gamma1: tensor<192xf32> {tlf.parameter},
    %beta1: tensor<192xf32> {tlf.parameter},
    %gamma2: tensor<192xf32> {tlf.parameter},
    %beta2: tensor<192xf32> {tlf.parameter})
    -> tensor<2x100x192xf32> {
  // Attention: queries, keys and values, split into heads.
  %norm = graph.layer_norm %x weight %gamma1 bias %beta1 epsilon 1.0e-05
      : (tensor<2x100x192xf32>, tensor<192xf32>, tensor<192xf32>) -> tensor<2x100x192xf32>
  %q_0 = graph.matmul %norm, %w_q
      : (tensor<2x100x192xf32>, tensor<192x192xf32>) -> tensor<2x100x192xf32>
  %q = graph.add %q_0, %b_q
      : (tensor<2x100x192xf32>, tensor<192xf32>) -> tensor<2x100x192xf32>
  %q_split = graph.reshape %q
      : (tensor<2x100x192xf32>) -> tensor<2x100x4x48xf32>
  %q_heads = graph.transpose %q_split permutation [0, 2, 1, 3]
      : (tensor<2x100x4x48xf32>) -> tensor<2x4x100x48xf32>
  %k_0 = graph.matmul %norm, %w_k
      : (tensor<2x100x192xf32>, tensor<192x192xf32>) -> tensor<2x100x192xf32>
  %k = graph.add %k_0, %b_k
      : (tensor<2x100x192xf32>, tensor<192xf32>) -> tensor<2x100x192xf32>
  %k_split = graph.reshape %k
      : (tensor<2x100x192xf32>) -> tensor<2x100x4x48xf32>
  %k_heads = graph.transpose %k_split permutation [0, 2, 3, 1]
      : (tensor<2x100x4x48xf32>) -> tensor<2x4x48x100xf32>
  %v_0 = graph.matmul %norm, %w_v
      : (tensor<2x100x192xf32>, tensor<192x192xf32>) -> tensor<2x100x192xf32>
  %v = graph.add %v_0, %b_v
      : (tensor<2x100x192xf32>, tensor<192xf32>) -> tensor<2x100x192xf32>
  %v_split = graph.reshape %v
      : (tensor<2x100x192xf32>) -> tensor<2x100x4x48xf32>
  %v_heads = graph.transpose %v_split permutation [0, 2, 1, 3]
      : (tensor<2x100x4x48xf32>) -> tensor<2x4x100x48xf32>
  %products = graph.matmul %q_heads, %k_heads
      : (tensor<2x4x100x48xf32>, tensor<2x4x48x100xf32>) -> tensor<2x4x100x100xf32>
  %root = graph.constant dense<6.92820323> : tensor<f32>
  %scores = graph.div %products, %root
      : (tensor<2x4x100x100xf32>, tensor<f32>) -> tensor<2x4x100x100xf32>
  %weights = graph.softmax %scores axis 3
      : (tensor<2x4x100x100xf32>) -> tensor<2x4x100x100xf32>
  %mixed = graph.matmul %weights, %v_heads
      : (tensor<2x4x100x100xf32>, tensor<2x4x100x48xf32>) -> tensor<2x4x100x48xf32>
  %merged = graph.transpose %mixed permutation [0, 2, 1, 3]
      : (tensor<2x4x100x48xf32>) -> tensor<2x100x4x48xf32>
  %concat = graph.reshape %merged
      : (tensor<2x100x4x48xf32>) -> tensor<2x100x192xf32>
  %projected_0 = graph.matmul %concat, %w_o
      : (tensor<2x100x192xf32>, tensor<192x192xf32>) -> tensor<2x100x192xf32>
  %projected = graph.add %projected_0, %b_o
      : (tensor<2x100x192xf32>, tensor<192xf32>) -> tensor<2x100x192xf32>
  %dropped = graph.dropout %projected ratio 0.1 : tensor<2x100x192xf32>
  %attended = graph.add %x, %dropped
      : (tensor<2x100x192xf32>, tensor<2x100x192xf32>) -> tensor<2x100x192xf32>
  // Feed-forward network.
  %norm2 = graph.layer_norm %attended weight %gamma2 bias %beta2 epsilon 1.0e-05
      : (tensor<2x100x192xf32>, tensor<192xf32>, tensor<192xf32>) -> tensor<2x100x192xf32>
  %hidden_0 = graph.matmul %norm2, %w1
      : (tensor<2x100x192xf32>, tensor<192x768xf32>) -> tensor<2x100x768xf32>
  %hidden = graph.add %hidden_0, %b1
      : (tensor<2x100x768xf32>, tensor<768xf32>) -> tensor<2x100x768xf32>
  %active = graph.gelu %hidden <erf> : tensor<2x100x768xf32>
  %output_0 = graph.matmul %active, %w2
      : (tensor<2x100x768xf32>, tensor<768x192xf32>) -> tensor<2x100x192xf32>
  %output = graph.add %output_0, %b2
      : (tensor<2x100x192xf32>, tensor<192xf32>) -> tensor<2x100x192xf32>
  %y = graph.add %attended, %output
      : (tensor<2x100x192xf32>, tensor<2x100x192xf32>) -> tensor<2x100x192xf32>
  func.return %y : tensor<2x100x192xf32>
}
