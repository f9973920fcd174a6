// RUN: tlf-opt %s --target h200 -p graph-round-factors | filecheck %s
// RUN: tlf-opt %s --target npu -p graph-round-factors | filecheck %s --check-prefix=NPU

// NPU-NOT: graph.round_tf32

// Values are rounded where they are computed, also for other readers of views.
// CHECK-LABEL: func.func @computed
// CHECK-NEXT:    [[W:%.*]] = graph.round_tf32 %w : tensor<48x64xf32>
// CHECK-NEXT:    [[X:%.*]] = graph.relu %x : tensor<8x4x64xf32>
// CHECK-NEXT:    [[R:%.*]] = graph.round_tf32 [[X]] : tensor<8x4x64xf32>
// CHECK-NEXT:    [[Y:%.*]] = graph.reshape [[X]] : (tensor<8x4x64xf32>) -> tensor<32x64xf32>
// CHECK-NEXT:    [[V:%.*]] = graph.reshape [[R]] : (tensor<8x4x64xf32>) -> tensor<32x64xf32>
// CHECK-NEXT:    [[P:%.*]] = graph.contract [[V]], [[W]]
// CHECK:         func.return [[P]], [[Y]]
func.func @computed(%x: tensor<8x4x64xf32>, %w: tensor<48x64xf32> {tlf.parameter}) -> (tensor<32x48xf32>, tensor<32x64xf32>) {
  %0 = graph.relu %x : tensor<8x4x64xf32>
  %1 = graph.reshape %0 : (tensor<8x4x64xf32>) -> tensor<32x64xf32>
  %2 = graph.contract %1, %w maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>] precision "tf32"
    : (tensor<32x64xf32>, tensor<48x64xf32>) -> tensor<32x48xf32>
  func.return %2, %1 : tensor<32x48xf32>, tensor<32x64xf32>
}

// The copy of an argument is rounded.
// CHECK-LABEL: func.func @argument
// CHECK:         [[C:%.*]] = graph.im2col %x
// CHECK-NEXT:    [[R:%.*]] = graph.round_tf32 [[C]] : tensor<1x9x9x16xf32>
// CHECK-NEXT:    [[U:%.*]] = graph.im2col [[R]]
// CHECK-NEXT:    {{%.*}} = graph.contract [[U]]
func.func @argument(%x: tensor<1x16x9x9xf32>, %w: tensor<16x144xf32> {tlf.parameter}) -> tensor<49x16xf32> {
  %0 = graph.im2col %x map affine_map<(n, h, w, c) -> (n, c, h, w)> basis [[1], [9], [9], [16]] fill 0.0 : (tensor<1x16x9x9xf32>) -> tensor<1x9x9x16xf32>
  %1 = graph.im2col %0 map affine_map<(n, h, w, r, s, c) -> (n, h + r, w + s, c)> basis [[1, 7, 7], [3, 3, 16]] fill 0.0 : (tensor<1x9x9x16xf32>) -> tensor<49x144xf32>
  %y = graph.contract %1, %w maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>] precision "tf32"
    : (tensor<49x144xf32>, tensor<16x144xf32>) -> tensor<49x16xf32>
  func.return %y : tensor<49x16xf32>
}

// Kept: other precisions, products of few rows, and computed factors without a weight.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:     graph.round_tf32
func.func @kept(%x: tensor<32x64xf32>, %one: tensor<1x64xf32>, %w: tensor<64x48xf32> {tlf.parameter}) -> (tensor<32x48xf32>, tensor<32x48xf32>, tensor<1x48xf32>, tensor<48x48xf32>) {
  %0 = graph.matmul %x, %w : (tensor<32x64xf32>, tensor<64x48xf32>) -> tensor<32x48xf32>
  %1 = graph.matmul %x, %w precision "tf32x3" : (tensor<32x64xf32>, tensor<64x48xf32>) -> tensor<32x48xf32>
  %2 = graph.matmul %one, %w precision "tf32" : (tensor<1x64xf32>, tensor<64x48xf32>) -> tensor<1x48xf32>
  %3 = graph.transpose %0 permutation [1, 0] : (tensor<32x48xf32>) -> tensor<48x32xf32>
  %4 = graph.matmul %3, %1 precision "tf32" : (tensor<48x32xf32>, tensor<32x48xf32>) -> tensor<48x48xf32>
  func.return %0, %1, %2, %4 : tensor<32x48xf32>, tensor<32x48xf32>, tensor<1x48xf32>, tensor<48x48xf32>
}
