// RUN: tlf-opt %s --target npu-tiny -p convert-graph-to-tile | filecheck %s

// A tile of rows reads one more on both sides; what lies outside is zero. The padding
// of the operation is gone but for that of columns, of which the tile has all.
// CHECK-LABEL: func.func @halo
// CHECK:         [[W:%.*]] = tile.slice %w[0, 0, 0, 0] :
// CHECK-NEXT:    tile.while ([[I:%.*]] = 0 to 10 step 4) parallel
// CHECK-NEXT:      [[N:%.*]] = affine.apply affine_map<(d0) -> ((d0 + -1))> ([[I]])
// CHECK-NEXT:      [[X:%.*]] = tile.slice %x[0, 0, [[N]], 0] fill 0.000000e+00 : f32 : tensor<1x3x10x12xf32> -> tensor<1x3x6x12xf32, #tile.encoding<L2>>
// CHECK-NEXT:      [[Y:%.*]] = graph.conv2d [[X]], [[W]] padding [0, 1, 0, 1] :
// CHECK-NEXT:      tile.deslice [[Y]] into %{{.*}}[0, 0, [[I]], 0]
func.func @halo(%x: tensor<1x3x10x12xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x10x12xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<1x3x10x12xf32>, tensor<4x3x3x3xf32>)
      plan #graph.plan<L2, tile [1, 4, 4, 12]> -> (tensor<1x4x10x12xf32>) {
    %0 = graph.conv2d %a, %b padding [1, 1, 1, 1] : (tensor<1x3x10x12xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x10x12xf32>
    graph.yield %0 : tensor<1x4x10x12xf32>
  }
  func.return %y : tensor<1x4x10x12xf32>
}

// Strides and dilation spread what a tile reads: 4 rows need 2 * 3 + 2 * 2 + 1.
// CHECK-LABEL: func.func @strides
// CHECK:         tile.while ([[I:%.*]] = 0 to 9 step 4) parallel
// CHECK-NEXT:      [[N:%.*]] = affine.apply affine_map<(d0) -> ((d0 * 2))> ([[I]])
// CHECK-NEXT:      tile.slice %x[0, 0, [[N]], 0] : tensor<1x3x21x9xf32> -> tensor<1x3x11x9xf32, #tile.encoding<L2>>
// CHECK:           graph.conv2d {{.*}} strides [2, 1] dilation [2, 1] :
func.func @strides(%x: tensor<1x3x21x9xf32>, %w: tensor<4x3x3x1xf32>) -> tensor<1x4x9x9xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<1x3x21x9xf32>, tensor<4x3x3x1xf32>)
      plan #graph.plan<L2, tile [1, 4, 4, 9]> -> (tensor<1x4x9x9xf32>) {
    %0 = graph.conv2d %a, %b strides [2, 1] dilation [2, 1] : (tensor<1x3x21x9xf32>, tensor<4x3x3x1xf32>) -> tensor<1x4x9x9xf32>
    graph.yield %0 : tensor<1x4x9x9xf32>
  }
  func.return %y : tensor<1x4x9x9xf32>
}

// Taps can be a loop of their own: what they read moves along.
// CHECK-LABEL: func.func @taps
// CHECK:         tile.while ([[I:%.*]] = 0 to 10 step 5) parallel
// CHECK:           tile.while ([[C:%.*]] = 0 to 3 step 2, [[R:%.*]] = 0 to 3 step 1) sequential
// CHECK-NEXT:        [[S:%.*]] = affine.apply affine_map<(d0, d1) -> (((d0 + d1) + -1))> ([[I]], [[R]])
// CHECK-NEXT:        tile.slice %x[0, [[C]], [[S]], 0] fill 0.000000e+00 : f32 : tensor<1x3x10x12xf32> -> tensor<1x2x5x12xf32, #tile.encoding<L1>>
// CHECK-NEXT:        tile.slice %w[0, [[C]], [[R]], 0] fill 0.000000e+00 : f32 : tensor<4x3x3x1xf32> -> tensor<4x2x1x1xf32, #tile.encoding<L1>>
func.func @taps(%x: tensor<1x3x10x12xf32>, %w: tensor<4x3x3x1xf32>) -> tensor<1x4x10x12xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<1x3x10x12xf32>, tensor<4x3x3x1xf32>)
      plan #graph.plan<L1, tile [1, 4, 5, 12], reduce [2, 1, 1]> -> (tensor<1x4x10x12xf32>) {
    %0 = graph.conv2d %a, %b padding [1, 0, 1, 0] : (tensor<1x3x10x12xf32>, tensor<4x3x3x1xf32>) -> tensor<1x4x10x12xf32>
    graph.yield %0 : tensor<1x4x10x12xf32>
  }
  func.return %y : tensor<1x4x10x12xf32>
}

// The first of two convolutions is computed with a halo, too. At the border the second
// must read zeros, not what the first makes of what lies outside. The skip is a view of
// the interior of what the first has cut out.
// CHECK-LABEL: func.func @two
// CHECK:         tile.while ([[I:%.*]] = 0 to 10 step 4) parallel
// CHECK-NEXT:      [[N:%.*]] = affine.apply affine_map<(d0) -> ((d0 + -1))> ([[I]])
// CHECK-NEXT:      [[X:%.*]] = tile.slice %x[0, 0, [[N]], 0] : tensor<1x4x10x12xf32> -> tensor<1x4x6x12xf32, #tile.encoding<L2>>
// CHECK:           [[F:%.*]] = graph.conv2d [[X]], {{.*}} -> tensor<1x4x6x12xf32, #tile.encoding<L2>>
// CHECK-NEXT:      [[G:%.*]] = graph.exp [[F]]
// CHECK-NEXT:      [[P:%.*]] = affine.apply affine_map<(d0) -> ((d0 + -1))> ([[I]])
// CHECK-NEXT:      [[M:%.*]] = tile.mask [[G]][0, 0, [[P]], 0] bounds [1, 4, 10, 12] fill 0.000000e+00
// CHECK:           [[S:%.*]] = graph.conv2d [[M]], {{.*}} -> tensor<1x4x4x12xf32, #tile.encoding<L2>>
// CHECK-NEXT:      [[V:%.*]] = tile.slice [[X]][0, 0, 1, 0] : tensor<1x4x6x12xf32, #tile.encoding<L2>> -> tensor<1x4x4x12xf32, #tile.encoding<L2>>
// CHECK-NEXT:      [[A:%.*]] = graph.add [[S]], [[V]]
// CHECK-NEXT:      tile.deslice [[A]] into
func.func @two(%x: tensor<1x4x10x12xf32>, %v: tensor<4x4x1x1xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x4x10x12xf32> {
  %y = graph.group ins(%a = %x, %c = %v, %b = %w : tensor<1x4x10x12xf32>, tensor<4x4x1x1xf32>, tensor<4x4x3x3xf32>)
      plan #graph.plan<L2, tile [1, 4, 4, 12]> -> (tensor<1x4x10x12xf32>) {
    %0 = graph.conv2d %a, %c : (tensor<1x4x10x12xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x10x12xf32>
    %1 = graph.exp %0 : tensor<1x4x10x12xf32>
    %2 = graph.conv2d %1, %b padding [1, 1, 1, 1] : (tensor<1x4x10x12xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x10x12xf32>
    %3 = graph.add %2, %a : (tensor<1x4x10x12xf32>, tensor<1x4x10x12xf32>) -> tensor<1x4x10x12xf32>
    graph.yield %3 : tensor<1x4x10x12xf32>
  }
  func.return %y : tensor<1x4x10x12xf32>
}
