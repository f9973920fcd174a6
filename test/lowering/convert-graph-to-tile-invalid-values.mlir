// RUN: not tlf-opt %s --split-input-file --target h200 -p convert-graph-to-tile 2>&1 | filecheck %s

// A tile of registers has an extent that is a power of two, and no parts.
// CHECK: error: graph.conv2d: it reads windows of 7 elements, and tiles of this target have extents that are powers of two
func.func @window(%x: tensor<1x3x10x16xf32>, %w: tensor<4x3x3x1xf32>) -> tensor<1x4x8x16xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<1x3x10x16xf32>, tensor<4x3x3x1xf32>)
      plan #graph.plan<L1, tile [1, 4, 4, 16]> -> (tensor<1x4x8x16xf32>) {
    %0 = graph.conv2d %a, %b : (tensor<1x3x10x16xf32>, tensor<4x3x3x1xf32>) -> tensor<1x4x8x16xf32>
    graph.yield %0 : tensor<1x4x8x16xf32>
  }
  func.return %y : tensor<1x4x8x16xf32>
}

// -----

// CHECK: error: graph.exp: its consumers need only parts of its tile
func.func @parts(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %y = graph.group ins(%a = %x : tensor<32x32xf32>) plan #graph.plan<L1, tile [8, 8]> -> (tensor<32x32xf32>) {
    %0 = graph.exp %a : tensor<32x32xf32>
    %1 = graph.transpose %0 permutation [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %2 = graph.add %0, %1 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    graph.yield %2 : tensor<32x32xf32>
  }
  func.return %y : tensor<32x32xf32>
}

// -----

// CHECK: error: graph.conv2d: tiles of values do not roll
func.func @rolling(%x: tensor<1x3x10x12xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x8x10xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<1x3x10x12xf32>, tensor<4x3x3x3xf32>) plan #graph.plan<L1, tile [1, 4, 4, 8], sliding [2]> -> (tensor<1x4x8x10xf32>) {
    %0 = graph.conv2d %a, %b : (tensor<1x3x10x12xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x10xf32>
    graph.yield %0 : tensor<1x4x8x10xf32>
  }
  func.return %y : tensor<1x4x8x10xf32>
}
