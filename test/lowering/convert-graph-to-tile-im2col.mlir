// RUN: tlf-opt %s --target h200 -p convert-graph-to-tile --split-input-file | filecheck %s

// The operand stays where it is, and a load makes a tile of its windows.
// CHECK-LABEL: func.func @conv
// CHECK:         tile.while ([[I:%.*]] = 0 to 98 step 16, [[J:%.*]] = 0 to 24 step 8) parallel
// CHECK:         tile.while ({{.*}}[[K:%.*]] = 0 to 144 step 32
// CHECK-NEXT:      [[U:%.*]] = tile.im2col %x[[[I]], [[K]]]
func.func @conv(%x: tensor<2x7x7x16xf32>, %w: tensor<24x144xf32>) -> tensor<98x24xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<2x7x7x16xf32>, tensor<24x144xf32>) plan #graph.plan<L1, tile [16, 8], reduce [32]> -> (tensor<98x24xf32>) {
    %0 = graph.im2col %a map affine_map<(n, h, w, r, s, c) -> (n, h + r - 1, w + s - 1, c)>
        basis [[2, 7, 7], [3, 3, 16]] fill 0.0 : (tensor<2x7x7x16xf32>) -> tensor<98x144xf32>
    %1 = graph.contract %0, %b maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>] : (tensor<98x144xf32>, tensor<24x144xf32>) -> tensor<98x24xf32>
    graph.yield %1 : tensor<98x24xf32>
  }
  func.return %y : tensor<98x24xf32>
}
