// RUN: tlf-opt %s --target h200 -p graph-fold-constants,dce | filecheck %s
// RUN: tlf-opt %s --target npu -p graph-fold-constants,dce | filecheck %s --check-prefix NPU

// A mask that is computed from positions bounds the loop over keys, though its bytes cost
// less to read than its operations; loops of an NPU have constant bounds.
// CHECK-LABEL: func.func @window
// CHECK:         graph.compare
// CHECK:         graph.compare
// CHECK:         [[M:%.*]] = graph.and
// CHECK:         graph.select [[M]]
// NPU-LABEL: func.func @window
// NPU:         [[C:%.*]] = graph.constant dense<"0x
// NPU-NOT:     graph.and
// NPU:         graph.select [[C]]
func.func @window(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %i = graph.iota axis 0 : tensor<64x1xi32>
  %j = graph.iota axis 1 : tensor<1x64xi32>
  %far = graph.constant dense<8> : tensor<i32>
  %d = graph.sub %i, %j : (tensor<64x1xi32>, tensor<1x64xi32>) -> tensor<64x64xi32>
  %n = graph.abs %d : tensor<64x64xi32>
  %0 = graph.compare %n, %far <le> : (tensor<64x64xi32>, tensor<i32>) -> tensor<64x64xi1>
  %1 = graph.compare %i, %j <ge> : (tensor<64x1xi32>, tensor<1x64xi32>) -> tensor<64x64xi1>
  %m = graph.and %0, %1 : tensor<64x64xi1>
  %z = graph.constant dense<0.0> : tensor<f32>
  %y = graph.select %m, %x, %z : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  func.return %y : tensor<64x64xf32>
}

// A mask of other functions of positions bounds nothing.
// CHECK-LABEL: func.func @dilated
// CHECK-NOT:     graph.compare
// CHECK:         graph.select
func.func @dilated(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %i = graph.iota axis 0 : tensor<64x1xi32>
  %j = graph.iota axis 1 : tensor<1x64xi32>
  %three = graph.constant dense<3> : tensor<i32>
  %zero = graph.constant dense<0> : tensor<i32>
  %d = graph.sub %i, %j : (tensor<64x1xi32>, tensor<1x64xi32>) -> tensor<64x64xi32>
  %r = graph.rem %d, %three : (tensor<64x64xi32>, tensor<i32>) -> tensor<64x64xi32>
  %m = graph.compare %r, %zero <eq> : (tensor<64x64xi32>, tensor<i32>) -> tensor<64x64xi1>
  %z = graph.constant dense<0.0> : tensor<f32>
  %y = graph.select %m, %x, %z : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  func.return %y : tensor<64x64xf32>
}
