// RUN: tlf-opt %s --split-input-file --verify-diagnostics --target npu -p "graph-assign-layouts"

// expected-error@+1 {{expected `tlf.layout` of argument 0 to order 2 axes, each once, as in array<i64: 0, 2, 3, 1>, or "any", got array<i64: 0, 2>}}
func.func @f(%x: tensor<4x8xf32> {tlf.layout = array<i64: 0, 2>}) {
  func.return
}

// -----

// expected-error@+1 {{expected `tlf.layout` of result 0 to order 2 axes, each once, as in array<i64: 0, 2, 3, 1>, or "any", got "last"}}
func.func @f(%x: tensor<4x8xf32>) -> (tensor<4x8xf32> {tlf.layout = "last"}) {
  %y = graph.exp %x : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
