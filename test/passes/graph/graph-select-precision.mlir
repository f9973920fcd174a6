// RUN: tlf-opt %s --target h200 -p "graph-decompose,tidy,graph-expose-cascaded-reductions,tidy,graph-select-precision" | filecheck %s
// RUN: tlf-opt %s --target npu -p graph-select-precision | filecheck %s --check-prefix=NPU

// NPU-COUNT-5: precision "bf16x6"

// Lanes multiply a few tiles sooner than threads split their factors; rows of a weight then run along the result.
// CHECK-LABEL: func.func @few
// CHECK-NEXT:    [[W:%.*]] = graph.transpose %w permutation [1, 0] : (tensor<256x64xf32>) -> tensor<64x256xf32>
// CHECK-NEXT:    %y = graph.contract %x, [[W]] maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>] :
func.func @few(%x: tensor<784x64xf32>, %w: tensor<256x64xf32> {tlf.parameter}) -> tensor<784x256xf32> {
  %y = graph.contract %x, %w maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
    precision "bf16x6" : (tensor<784x64xf32>, tensor<256x64xf32>) -> tensor<784x256xf32>
  func.return %y : tensor<784x256xf32>
}

// Both factors of a call.
// CHECK-LABEL: func.func @factors
// CHECK-NOT:     precision
func.func @factors(%x: tensor<784x64xf32>, %w: tensor<64x256xf32>) -> tensor<784x256xf32> {
  %y = graph.contract %x, %w maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
    precision "bf16x6" : (tensor<784x64xf32>, tensor<64x256xf32>) -> tensor<784x256xf32>
  func.return %y : tensor<784x256xf32>
}

// Kept: many tiles, and a product in tf32.
// CHECK-LABEL: func.func @kept
// CHECK:         %y = graph.contract {{.*}} precision "bf16x6"
// CHECK:         %z = graph.contract {{.*}} precision "tf32"
func.func @kept(%x: tensor<4096x2048xf32>, %w: tensor<4096x2048xf32> {tlf.parameter}, %a: tensor<784x64xf32>, %b: tensor<256x64xf32>)
    -> (tensor<4096x4096xf32>, tensor<784x256xf32>) {
  %y = graph.contract %x, %w maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
    precision "bf16x6" : (tensor<4096x2048xf32>, tensor<4096x2048xf32>) -> tensor<4096x4096xf32>
  %z = graph.contract %a, %b maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
    precision "tf32" : (tensor<784x64xf32>, tensor<256x64xf32>) -> tensor<784x256xf32>
  func.return %y, %z : tensor<4096x4096xf32>, tensor<784x256xf32>
}

// Kept: the loop of an attention.
// CHECK-LABEL: func.func @attention
// CHECK:         graph.contract {{.*}} precision "bf16x6"
// CHECK:         graph.contract {{.*}} precision "bf16x6"
func.func @attention(%q: tensor<8x4096x16xf32>, %k: tensor<8x4096x16xf32>, %v: tensor<8x4096x16xf32>) -> tensor<8x4096x16xf32> {
  %s = graph.contract %q, %k maps [affine_map<(b, i, j, k) -> (b, i, k)>, affine_map<(b, i, j, k) -> (b, j, k)>, affine_map<(b, i, j, k) -> (b, i, j)>]
    precision "bf16x6" : (tensor<8x4096x16xf32>, tensor<8x4096x16xf32>) -> tensor<8x4096x4096xf32>
  %p = graph.softmax %s axis 2 : (tensor<8x4096x4096xf32>) -> tensor<8x4096x4096xf32>
  %y = graph.contract %p, %v maps [affine_map<(b, i, j, k) -> (b, i, k)>, affine_map<(b, i, j, k) -> (b, k, j)>, affine_map<(b, i, j, k) -> (b, i, j)>]
    precision "bf16x6" : (tensor<8x4096x4096xf32>, tensor<8x4096x16xf32>) -> tensor<8x4096x16xf32>
  func.return %y : tensor<8x4096x16xf32>
}
