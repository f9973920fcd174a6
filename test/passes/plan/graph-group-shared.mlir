// RUN: tlf-opt %s --target h200 -p graph-group | filecheck %s
// RUN: tlf-opt %s --target npu -p "graph-group{level=L2}" | filecheck %s --check-prefix=NPU

// A bias that others read, too, would be stored by tiles that hold all heads and rows of
// the scores. It is a group of its own, where threads hold tiles.
// CHECK-LABEL: func.func @mask
// CHECK-SAME:    a result beside a contraction has other users and lacks axes of it
// CHECK:         %bias = graph.group
// CHECK-NEXT:      graph.mul
// CHECK-NEXT:      graph.yield
// CHECK:         %s = graph.group
// CHECK-NEXT:      graph.matmul
// CHECK-NEXT:      graph.add
// NPU-LABEL: func.func @mask
// NPU:         %s, %bias = graph.group
func.func @mask(%m: tensor<2x1x1x512xf32>, %q: tensor<2x12x512x64xf32>,
    %k: tensor<2x12x64x512xf32>) -> (tensor<2x12x512x512xf32>, tensor<2x1x1x512xf32>) {
  %bias = graph.mul %m, %m
      : (tensor<2x1x1x512xf32>, tensor<2x1x1x512xf32>) -> tensor<2x1x1x512xf32>
  %0 = graph.matmul %q, %k
      : (tensor<2x12x512x64xf32>, tensor<2x12x64x512xf32>) -> tensor<2x12x512x512xf32>
  %s = graph.add %0, %bias
      : (tensor<2x12x512x512xf32>, tensor<2x1x1x512xf32>) -> tensor<2x12x512x512xf32>
  func.return %s, %bias : tensor<2x12x512x512xf32>, tensor<2x1x1x512xf32>
}

// What has all axes of the product may be a result beside it.
// CHECK-LABEL: func.func @residual
// CHECK: graph.group
// CHECK: graph.exp
// CHECK: graph.matmul
// CHECK: graph.add
func.func @residual(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>,
    %x: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
  %e = graph.exp %x : tensor<512x512xf32>
  %0 = graph.matmul %a, %b
      : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  %y = graph.add %0, %e
      : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  func.return %e, %y : tensor<512x512xf32>, tensor<512x512xf32>
}
