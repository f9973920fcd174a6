// RUN: not tlf-opt %s --split-input-file --target npu-tiny -p convert-graph-to-tile 2>&1 | filecheck %s

// CHECK: error: graph.group: expected a plan: run `graph-select-tile-sizes`
func.func @no_plan(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.group ins(%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %0 = graph.exp %a : tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// CHECK: error: graph.group: expected a plan for one of the levels L2, L1, got L4
func.func @unknown_level(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.group ins(%a = %x : tensor<4xf32>) plan #graph.plan<L4, tile [2]> -> (tensor<4xf32>) {
    %0 = graph.exp %a : tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// CHECK: error: graph.conv2d: axis 2 cannot be tiled: a tile of several of the 2 groups must hold whole ones
func.func @groups(%x: tensor<1x4x9x9xf32>, %w: tensor<8x2x1x1xf32>) -> tensor<1x8x9x9xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<1x4x9x9xf32>, tensor<8x2x1x1xf32>)
      plan #graph.plan<L1, tile [1, 2, 3, 9, 9]> -> (tensor<1x8x9x9xf32>) {
    %0 = graph.conv2d %a, %b groups 2 : (tensor<1x4x9x9xf32>, tensor<8x2x1x1xf32>) -> tensor<1x8x9x9xf32>
    graph.yield %0 : tensor<1x8x9x9xf32>
  }
  func.return %y : tensor<1x8x9x9xf32>
}

// -----

// Every row of tiles would write the row that is broadcast.
// CHECK: error: graph.exp: several tiles would write the same elements
func.func @twice(%x: tensor<10x20xf32>, %r: tensor<20xf32>) -> (tensor<10x20xf32>, tensor<20xf32>) {
  %y, %z = graph.group ins(%a = %x, %b = %r : tensor<10x20xf32>, tensor<20xf32>)
      plan #graph.plan<L1, tile [4, 8]> -> (tensor<10x20xf32>, tensor<20xf32>) {
    %0 = graph.exp %b : tensor<20xf32>
    %1 = graph.add %a, %0 : (tensor<10x20xf32>, tensor<20xf32>) -> tensor<10x20xf32>
    graph.yield %1, %0 : tensor<10x20xf32>, tensor<20xf32>
  }
  func.return %y, %z : tensor<10x20xf32>, tensor<20xf32>
}

// -----

// A stride of 2 leaves the last of 10 rows out,
// CHECK: error: graph.exp: a tile holds only part of an axis of a result
func.func @part(%x: tensor<1x1x10x9xf32>, %w: tensor<1x1x1x1xf32>) -> (tensor<1x1x5x9xf32>, tensor<1x1x10x9xf32>) {
  %y, %z = graph.group ins(%a = %x, %b = %w : tensor<1x1x10x9xf32>, tensor<1x1x1x1xf32>)
      plan #graph.plan<L1, tile [1, 1, 5, 9]> -> (tensor<1x1x5x9xf32>, tensor<1x1x10x9xf32>) {
    %0 = graph.exp %a : tensor<1x1x10x9xf32>
    %1 = graph.conv2d %0, %b strides [2, 1] : (tensor<1x1x10x9xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x5x9xf32>
    graph.yield %1, %0 : tensor<1x1x5x9xf32>, tensor<1x1x10x9xf32>
  }
  func.return %y, %z : tensor<1x1x5x9xf32>, tensor<1x1x10x9xf32>
}

// -----

// and moves twice as fast as the loop.
// CHECK: error: graph.exp: the tiles of a result do not follow one loop each
func.func @fast(%x: tensor<1x1x9x9xf32>, %w: tensor<1x1x1x1xf32>) -> (tensor<1x1x5x9xf32>, tensor<1x1x9x9xf32>) {
  %y, %z = graph.group ins(%a = %x, %b = %w : tensor<1x1x9x9xf32>, tensor<1x1x1x1xf32>)
      plan #graph.plan<L1, tile [1, 1, 2, 9]> -> (tensor<1x1x5x9xf32>, tensor<1x1x9x9xf32>) {
    %0 = graph.exp %a : tensor<1x1x9x9xf32>
    %1 = graph.conv2d %0, %b strides [2, 1] : (tensor<1x1x9x9xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x5x9xf32>
    graph.yield %1, %0 : tensor<1x1x5x9xf32>, tensor<1x1x9x9xf32>
  }
  func.return %y, %z : tensor<1x1x5x9xf32>, tensor<1x1x9x9xf32>
}

// -----

// Padding without taps moves tiles apart from what they write.
// CHECK: error: graph.exp: the tiles of a result leave gaps
func.func @gaps(%x: tensor<1x1x10x9xf32>, %w: tensor<1x1x1x1xf32>) -> (tensor<1x1x12x9xf32>, tensor<1x1x10x9xf32>) {
  %y, %z = graph.group ins(%a = %x, %b = %w : tensor<1x1x10x9xf32>, tensor<1x1x1x1xf32>)
      plan #graph.plan<L1, tile [1, 1, 4, 9]> -> (tensor<1x1x12x9xf32>, tensor<1x1x10x9xf32>) {
    %0 = graph.exp %a : tensor<1x1x10x9xf32>
    %1 = graph.conv2d %0, %b padding [1, 0, 1, 0] : (tensor<1x1x10x9xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x12x9xf32>
    graph.yield %1, %0 : tensor<1x1x12x9xf32>, tensor<1x1x10x9xf32>
  }
  func.return %y, %z : tensor<1x1x12x9xf32>, tensor<1x1x10x9xf32>
}

// -----

// Tiles are those of the first result, of which the second needs a halo.
// CHECK: error: graph.exp: another result needs more than one tile of it
func.func @more(%x: tensor<1x1x9x9xf32>, %w: tensor<1x1x3x3xf32>) -> (tensor<1x1x9x9xf32>, tensor<1x1x9x9xf32>) {
  %y, %z = graph.group ins(%a = %x, %b = %w : tensor<1x1x9x9xf32>, tensor<1x1x3x3xf32>)
      plan #graph.plan<L1, tile [1, 1, 4, 9]> -> (tensor<1x1x9x9xf32>, tensor<1x1x9x9xf32>) {
    %0 = graph.exp %a : tensor<1x1x9x9xf32>
    %1 = graph.conv2d %0, %b padding [1, 1, 1, 1] : (tensor<1x1x9x9xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x9x9xf32>
    graph.yield %0, %1 : tensor<1x1x9x9xf32>, tensor<1x1x9x9xf32>
  }
  func.return %y, %z : tensor<1x1x9x9xf32>, tensor<1x1x9x9xf32>
}

// -----

// CHECK: error: graph.exp: expected results that the group computes
func.func @handed_on(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y, %z = graph.group ins(%a = %x : tensor<4xf32>) plan #graph.plan<L1, tile [2]> -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = graph.exp %a : tensor<4xf32>
    graph.yield %0, %a : tensor<4xf32>, tensor<4xf32>
  }
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK: error: graph.reduce: its consumers need elements beyond an axis that it does not iterate over
func.func @reach(%x: tensor<20x4xf32>) -> tensor<20x5xf32> {
  %y = graph.group ins(%a = %x : tensor<20x4xf32>) plan #graph.plan<L1, tile [20, 5], mapping loop> -> (tensor<20x5xf32>) {
    %0 = graph.reduce %a <sum> axes [1] keepdims : (tensor<20x4xf32>) -> tensor<20x1xf32>
    %1 = graph.pad %0 low [0, 3] high [0, 1] fill 0.0 : (tensor<20x1xf32>) -> tensor<20x5xf32>
    graph.yield %1 : tensor<20x5xf32>
  }
  func.return %y : tensor<20x5xf32>
}
