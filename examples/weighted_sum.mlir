// The weighted sum of every row. Tiles of 16 rows and 64 columns make 63 parallel
// blocks, each of which adds up 8 tiles.
func.func @weighted_sum(%x: tensor<1000x512xf32>, %weights: tensor<512xf32>)
    -> tensor<1000xf32> {
  %0 = graph.mul %x, %weights
      : (tensor<1000x512xf32>, tensor<512xf32>) -> tensor<1000x512xf32>
  %y = graph.reduce %0 <sum> axes [1] : (tensor<1000x512xf32>) -> tensor<1000xf32>
  func.return %y : tensor<1000xf32>
}
