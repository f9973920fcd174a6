// RUN: tlf-opt %s --split-input-file --verify-diagnostics

// Options in braces would be ignored, so they are refused.
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf32> {
  // expected-error@+1 {{graph.matmul: unknown attribute `precision`, expected options as keywords before the types}}
  %y = graph.matmul %x, %w {precision = "tf32"} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// -----

// Attributes with the prefix of a dialect belong to someone else.
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.exp %x {test.note} : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
