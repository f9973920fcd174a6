// RUN: tlf-opt %s --target npu-tiny -p "graph-decompose,graph-group{level=L2},graph-partition{level=L2 max-evaluations=0},graph-materialize-concat-operands,graph-select-tile-sizes{level=L2},convert-graph-to-tile" | filecheck %s
// RUN: tlf-run %s --target npu-tiny -p %first-plans --check | filecheck %s --check-prefix=RUNS
// RUNS: ok

// What lies outside of a joined tile is filled as its parts are loaded: nothing is masked.
// CHECK-LABEL: func.func @padded
// CHECK-NOT:     tile.mask
// CHECK:         [[A:%.*]] = tile.slice %a{{.*}} fill 0
// CHECK-NOT:     tile.mask
// CHECK:         [[B:%.*]] = tile.slice %b{{.*}} fill 0
// CHECK-NOT:     tile.mask
// CHECK:         graph.concat [[A]], [[B]] axis 1
// CHECK-NOT:     graph.concat
func.func @padded(%a: tensor<2x8x48x40xf16>, %b: tensor<2x16x48x40xf16>,
    %w: tensor<8x24x3x3xf16>) -> tensor<2x8x24x20xf16> {
  %c = graph.concat %a, %b axis 1
      : (tensor<2x8x48x40xf16>, tensor<2x16x48x40xf16>) -> tensor<2x24x48x40xf16>
  %d = graph.conv2d %c, %w strides [2, 2] padding [1, 1, 1, 1] acc f32
      : (tensor<2x24x48x40xf16>, tensor<8x24x3x3xf16>) -> tensor<2x8x24x20xf16>
  func.return %d : tensor<2x8x24x20xf16>
}
