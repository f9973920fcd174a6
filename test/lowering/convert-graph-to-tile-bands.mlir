// RUN: tlf-opt %s --target npu-tiny -p convert-graph-to-tile | filecheck %s

// On 8 x 8 cells, 2 x 4 neighbours of a channel are columns. Filters come with zeros
// around them, as many as the neighbours are apart.
// CHECK-LABEL: func.func @depthwise
// CHECK:         %b = tile.slice %w[%i, 0, -1, -3] fill 0.000000e+00 : f32 : tensor<4x1x3x3xf32> -> tensor<1x1x5x9xf32, #tile.encoding<L1>>
// CHECK-NEXT:    %{{.*}} = graph.linear_contract %a, %b domain [1, 1, 1, 4, 4, 1, 4, 6, 2, 4] maps [
// CHECK-SAME:      affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9) -> (d0, d1, ((d3 * 2) + d6), ((d4 * 4) + d7))>,
// CHECK-SAME:      affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9) -> (d1, 0, ((d6 + 1) + (d8 * -1)), ((d7 + 3) + (d9 * -1)))>,
// CHECK-SAME:      affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9) -> (d0, d1, ((d3 * 2) + d8), ((d4 * 4) + d9))>]
func.func @depthwise(%x: tensor<1x4x10x18xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<1x4x8x16xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<1x4x10x18xf32>, tensor<4x1x3x3xf32>)
      plan #graph.plan<L1, tile [1, 1, 1, 8, 16]> -> (tensor<1x4x8x16xf32>) {
    %0 = graph.conv2d %a, %b groups 4 : (tensor<1x4x10x18xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x16xf32>
    graph.yield %0 : tensor<1x4x8x16xf32>
  }
  func.return %y : tensor<1x4x8x16xf32>
}

// Eight filters fill the columns by themselves.
// CHECK-LABEL: func.func @filled
// CHECK:         tile.slice %w[%i, 0, 0, 0] : tensor<16x4x3x3xf32> -> tensor<8x4x3x3xf32, #tile.encoding<L1>>
// CHECK:         graph.conv2d
func.func @filled(%x: tensor<1x4x10x18xf32>, %w: tensor<16x4x3x3xf32>) -> tensor<1x16x8x16xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<1x4x10x18xf32>, tensor<16x4x3x3xf32>)
      plan #graph.plan<L1, tile [1, 8, 8, 16]> -> (tensor<1x16x8x16xf32>) {
    %0 = graph.conv2d %a, %b : (tensor<1x4x10x18xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x8x16xf32>
    graph.yield %0 : tensor<1x16x8x16xf32>
  }
  func.return %y : tensor<1x16x8x16xf32>
}

// Filters that the group computes are read as they are.
// CHECK-LABEL: func.func @computed
// CHECK:         graph.neg
// CHECK:         graph.conv2d
func.func @computed(%x: tensor<1x4x10x18xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<1x4x8x16xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<1x4x10x18xf32>, tensor<4x1x3x3xf32>)
      plan #graph.plan<L1, tile [1, 1, 1, 8, 16]> -> (tensor<1x4x8x16xf32>) {
    %n = graph.neg %b : tensor<4x1x3x3xf32>
    %0 = graph.conv2d %a, %n groups 4 : (tensor<1x4x10x18xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x16xf32>
    graph.yield %0 : tensor<1x4x8x16xf32>
  }
  func.return %y : tensor<1x4x8x16xf32>
}

// What neighbours see beyond an image, where the last tile has rows too many, is zero.
// CHECK-LABEL: func.func @beyond
// CHECK:         tile.slice %x[0, %i, %{{.*}}, 0] fill 0.000000e+00 : f32 : tensor<1x4x9x18xf32> -> tensor<1x1x6x18xf32, #tile.encoding<L1>>
// CHECK:         graph.linear_contract
func.func @beyond(%x: tensor<1x4x9x18xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<1x4x7x16xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<1x4x9x18xf32>, tensor<4x1x3x3xf32>)
      plan #graph.plan<L1, tile [1, 1, 1, 4, 16]> -> (tensor<1x4x7x16xf32>) {
    %0 = graph.conv2d %a, %b groups 4 : (tensor<1x4x9x18xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x7x16xf32>
    graph.yield %0 : tensor<1x4x7x16xf32>
  }
  func.return %y : tensor<1x4x7x16xf32>
}
