func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{tile.slice: expected a level among L1, L2, L3 of npu, got L7}}
  %a = tile.slice %x[0] : tensor<4xf32> -> tensor<4xf32, #tile.encoding<L7>>
  %b = tile.slice %a[0] : tensor<4xf32, #tile.encoding<L7>> -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}
