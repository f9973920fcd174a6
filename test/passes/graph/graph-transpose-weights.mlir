// RUN: tlf-opt %s --target h200 -p graph-transpose-weights | filecheck %s
// RUN: tlf-opt %s --target npu -p graph-transpose-weights | filecheck %s --check-prefix=NPU

// NPU-NOT: graph.transpose

// Lanes multiply f32: rows of the weight run along the result.
// CHECK-LABEL: func.func @linear
// CHECK-NEXT:    [[W:%.*]] = graph.transpose %w permutation [1, 0] : (tensor<48x64xf32>) -> tensor<64x48xf32>
// CHECK-NEXT:    %y = graph.contract %x, [[W]] maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
func.func @linear(%x: tensor<32x64xf32>, %w: tensor<48x64xf32> {tlf.parameter}) -> tensor<32x48xf32> {
  %y = graph.contract %x, %w maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
    : (tensor<32x64xf32>, tensor<48x64xf32>) -> tensor<32x48xf32>
  func.return %y : tensor<32x48xf32>
}

// The left factor, too; its other rows are kept in order.
// CHECK-LABEL: func.func @left
// CHECK-NEXT:    [[W:%.*]] = graph.transpose %w permutation [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
// CHECK-NEXT:    %y = graph.contract [[W]], %x
func.func @left(%w: tensor<32x64xf32> {tlf.parameter}, %x: tensor<64x48xf32>) -> tensor<32x48xf32> {
  %y = graph.contract %w, %x maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
    : (tensor<32x64xf32>, tensor<64x48xf32>) -> tensor<32x48xf32>
  func.return %y : tensor<32x48xf32>
}

// Rows of a few elements, such as the taps of a filter, are slow to load in any type:
// the reduction is last.
// CHECK-LABEL: func.func @short
// CHECK-NEXT:    [[W:%.*]] = graph.transpose %w permutation [1, 2, 0] : (tensor<64x24x2xbf16>) -> tensor<24x2x64xbf16>
// CHECK-NEXT:    %y = graph.contract %x, [[W]] maps [affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>
func.func @short(%x: tensor<32x64xbf16>, %w: tensor<64x24x2xbf16> {tlf.parameter}) -> tensor<32x24x2xbf16> {
  %y = graph.contract %x, %w maps [affine_map<(i, k, j, t) -> (i, k)>, affine_map<(i, k, j, t) -> (k, j, t)>, affine_map<(i, k, j, t) -> (i, j, t)>]
    : (tensor<32x64xbf16>, tensor<64x24x2xbf16>) -> tensor<32x24x2xbf16>
  func.return %y : tensor<32x24x2xbf16>
}

// Matrix instructions of tf32 do not transpose: rows of the weight run along the reduction.
// CHECK-LABEL: func.func @tf32
// CHECK-NEXT:    [[W:%.*]] = graph.transpose %w permutation [1, 0] : (tensor<64x48xf32>) -> tensor<48x64xf32>
// CHECK-NEXT:    {{.*}} = graph.contract %x, [[W]] maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>] precision "tf32"
// CHECK-NEXT:    [[V:%.*]] = graph.transpose %v permutation [0, 2, 1] : (tensor<2x48x32xf32>) -> tensor<2x32x48xf32>
// CHECK-NEXT:    {{.*}} = graph.contract [[V]], {{.*}} precision "tf32x3"
func.func @tf32(%x: tensor<32x64xf32>, %w: tensor<64x48xf32> {tlf.parameter}, %v: tensor<2x48x32xf32> {tlf.parameter}) -> tensor<2x32x32xf32> {
  %0 = graph.contract %x, %w maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>] precision "tf32"
    : (tensor<32x64xf32>, tensor<64x48xf32>) -> tensor<32x48xf32>
  %1 = graph.contract %v, %0 maps [affine_map<(b, i, j, k) -> (b, k, i)>, affine_map<(b, i, j, k) -> (j, k)>, affine_map<(b, i, j, k) -> (b, i, j)>] precision "tf32x3"
    : (tensor<2x48x32xf32>, tensor<32x48xf32>) -> tensor<2x32x32xf32>
  func.return %1 : tensor<2x32x32xf32>
}

// Threads read a left factor that they split along its rows: it is copied.
// CHECK-LABEL: func.func @split
// CHECK-NEXT:    [[X:%.*]] = graph.transpose %x permutation [1, 0] : (tensor<4096x2048xf32>) -> tensor<2048x4096xf32>
// CHECK-NEXT:    {{%.*}} = graph.contract [[X]], %w
func.func @split(%x: tensor<4096x2048xf32>, %w: tensor<4096x2048xf32>) -> tensor<2048x2048xf32> {
  %0 = graph.contract %x, %w maps [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>] precision "bf16x6"
    : (tensor<4096x2048xf32>, tensor<4096x2048xf32>) -> tensor<2048x2048xf32>
  func.return %0 : tensor<2048x2048xf32>
}

// Kept: a small factor that is known at a call only, a row of a few elements, matrix
// instructions of narrower types, rows of tf32 that run along the reduction, and rows that run along the result.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:     graph.transpose
func.func @kept(%x: tensor<32x64xf32>, %v: tensor<48x64xf32>, %one: tensor<1x64xf32>, %h: tensor<32x64xbf16>,
    %w: tensor<48x64xf32> {tlf.parameter}, %n: tensor<48x64xbf16> {tlf.parameter}, %t: tensor<64x48xf32> {tlf.parameter})
    -> (tensor<32x48xf32>, tensor<1x48xf32>, tensor<32x48xbf16>, tensor<32x48xf32>, tensor<32x48xf32>) {
  %0 = graph.contract %x, %v maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
    : (tensor<32x64xf32>, tensor<48x64xf32>) -> tensor<32x48xf32>
  %1 = graph.contract %one, %w maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
    : (tensor<1x64xf32>, tensor<48x64xf32>) -> tensor<1x48xf32>
  %2 = graph.contract %h, %n maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
    : (tensor<32x64xbf16>, tensor<48x64xbf16>) -> tensor<32x48xbf16>
  %3 = graph.contract %x, %w maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>] precision "tf32"
    : (tensor<32x64xf32>, tensor<48x64xf32>) -> tensor<32x48xf32>
  %4 = graph.contract %x, %t maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
    : (tensor<32x64xf32>, tensor<64x48xf32>) -> tensor<32x48xf32>
  func.return %0, %1, %2, %3, %4 : tensor<32x48xf32>, tensor<1x48xf32>, tensor<32x48xbf16>, tensor<32x48xf32>, tensor<32x48xf32>
}

// Factors that are known at a call only are copied if that takes less time. Batches stay first.
// CHECK-LABEL: func.func @varying
// CHECK-NEXT:    [[V:%.*]] = graph.transpose %v permutation [0, 2, 1] : (tensor<2x1024x4096xf32>) -> tensor<2x4096x1024xf32>
// CHECK-NEXT:    [[X:%.*]] = graph.transpose %x permutation [0, 2, 1]
// CHECK-NEXT:    graph.contract [[X]], [[V]]
// CHECK-NEXT:    graph.contract %h, %t
func.func @varying(%x: tensor<2x2048x4096xf32>, %v: tensor<2x1024x4096xf32>, %h: tensor<2048x64xf32>, %t: tensor<64x2048xf32>)
    -> (tensor<2x2048x1024xf32>, tensor<2048x2048xf32>) {
  %0 = graph.contract %x, %v maps [affine_map<(b, i, j, k) -> (b, i, k)>, affine_map<(b, i, j, k) -> (b, j, k)>, affine_map<(b, i, j, k) -> (b, i, j)>]
    : (tensor<2x2048x4096xf32>, tensor<2x1024x4096xf32>) -> tensor<2x2048x1024xf32>
  %1 = graph.contract %h, %t maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
    : (tensor<2048x64xf32>, tensor<64x2048xf32>) -> tensor<2048x2048xf32>
  func.return %0, %1 : tensor<2x2048x1024xf32>, tensor<2048x2048xf32>
}
