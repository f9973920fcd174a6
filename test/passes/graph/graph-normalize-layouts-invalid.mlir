// RUN: tlf-opt %s -p graph-normalize-layouts --split-input-file --verify-diagnostics

// expected-error@+1 {{expected `tlf.layout` of argument 0 to order 2 axes, each once, as in array<i64: 0, 2, 3, 1>, or "any", got array<i64: 0, 0>}}
func.func @f(%x: tensor<4x8xf32> {tlf.layout = array<i64: 0, 0>}) -> tensor<4x8xf32> {
  func.return %x : tensor<4x8xf32>
}

// -----

// expected-error@+1 {{expected `tlf.layout` of result 0 to order 2 axes, each once}}
func.func @f(%x: tensor<4x8xf32>) -> (tensor<4x8xf32> {tlf.layout = array<i64: 0>}) {
  func.return %x : tensor<4x8xf32>
}
