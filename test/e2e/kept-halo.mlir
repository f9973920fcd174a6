// RUN: tlf-run %s --target npu-tiny -p %first-plans --check | filecheck %s

// %padded stays near for the second group. The first one computes more than that of it,
// since the concatenation reads what lies around.

// CHECK: error of y {{.*}}: ok
// CHECK: error of z {{.*}}: ok
func.func @main(%x: tensor<1x2x1x1xf32>, %w: tensor<2x2x4x4xf32>)
    -> (tensor<2x2x4x8xf32>, tensor<2x2x4x2x3xf32>) {
  %padded = graph.pad %x low [1, 0, 0, 1] high [0, 0, 3, 0] fill 1.0
      : (tensor<1x2x1x1xf32>) -> tensor<2x2x4x2xf32>
  %y = graph.concat %padded, %padded, %w axis 3
      : (tensor<2x2x4x2xf32>, tensor<2x2x4x2xf32>, tensor<2x2x4x4xf32>)
      -> tensor<2x2x4x8xf32>
  %z = graph.unfold %padded
      map affine_map<(a, b, c, k, o) -> (a, b, c, o * 1 + k * 3 - 2)> fill 1.0
      : (tensor<2x2x4x2xf32>) -> tensor<2x2x4x2x3xf32>
  func.return %y, %z : tensor<2x2x4x8xf32>, tensor<2x2x4x2x3xf32>
}
