// RUN: tlf-opt %s --target npu-tiny -p convert-graph-to-tile | filecheck %s

// Tiles of rows overlap: what the next one needs is carried, and every row is read and
// computed once. Before the first tile come the rows that it shares with none. The skip
// is a view of the window that the first convolution reads.
// CHECK-LABEL: func.func @rows
// CHECK:         [[V:%.*]] = tile.slice %v[0, 0, 0, 0]
// CHECK:         [[W:%.*]] = tile.slice %w[0, 0, 0, 0]
// CHECK:         tile.while ([[N:%.*]] = 0 to 2 step 1) parallel mapping(loop) into([[O:%.*]] = %{{.*}} :
// CHECK-NEXT:      [[X0:%.*]] = tile.slice %x[[[N]], 0, -4, 0] : {{.*}} -> tensor<1x4x5x12xf32, #tile.encoding<L2>>
// CHECK-NEXT:      [[A:%.*]] = tile.slice [[X0]][0, 0, 4, 0] : {{.*}} -> tensor<1x4x1x12xf32, #tile.encoding<L2>>
// CHECK-NEXT:      [[B:%.*]] = graph.conv2d [[A]], [[V]]
// CHECK-NEXT:      [[C:%.*]] = tile.mask [[B]][[[N]], 0, -1, 0] bounds [2, 4, 10, 12] fill 0.000000e+00
// CHECK-NEXT:      [[D:%.*]] = tile.empty : tensor<1x4x6x12xf32, #tile.encoding<L2>>
// CHECK-NEXT:      [[T0:%.*]] = tile.deslice [[C]] into [[D]][0, 0, 4, 0]
// CHECK-NEXT:      {{.*}} = tile.while ([[I:%.*]] = 0 to 10 step 4) sequential mapping(loop) carry([[P:%.*]] = [[O]] : {{.*}}, [[T:%.*]] = [[T0]] : {{.*}}, [[X:%.*]] = [[X0]] :
// CHECK-NEXT:        [[H:%.*]] = affine.apply affine_map<(d0) -> ((d0 + 1))> ([[I]])
// CHECK-NEXT:        [[XN:%.*]] = tile.slice %x[[[N]], 0, [[H]], 0] : {{.*}} -> tensor<1x4x4x12xf32, #tile.encoding<L2>>
// CHECK-NEXT:        [[XR:%.*]] = tile.roll [[X]], [[XN]] axis 2
// CHECK-NEXT:        [[XV:%.*]] = tile.slice [[XR]][0, 0, 1, 0]
// CHECK-NEXT:        [[F:%.*]] = graph.conv2d [[XV]], [[V]] : {{.*}} -> tensor<1x4x4x12xf32, #tile.encoding<L2>>
// CHECK:             [[M:%.*]] = tile.mask [[F]]
// CHECK-NEXT:        [[TR:%.*]] = tile.roll [[T]], [[M]] axis 2
// CHECK-NEXT:        [[G:%.*]] = graph.conv2d [[TR]], [[W]]
// CHECK-NEXT:        [[S:%.*]] = tile.slice [[XR]][0, 0, 0, 0]
// CHECK-NEXT:        [[Y:%.*]] = graph.add [[G]], [[S]]
// CHECK-NEXT:        [[Q:%.*]] = tile.deslice [[Y]] into [[P]][[[N]], 0, [[I]], 0]
// CHECK-NEXT:        tile.yield [[Q]], [[TR]], [[XR]]
func.func @rows(%x: tensor<2x4x10x12xf32>, %v: tensor<4x4x1x1xf32>, %w: tensor<4x4x3x1xf32>) -> tensor<2x4x10x12xf32> {
  %y = graph.group ins(%a = %x, %c = %v, %b = %w : tensor<2x4x10x12xf32>, tensor<4x4x1x1xf32>, tensor<4x4x3x1xf32>)
      plan #graph.plan<L2, tile [1, 4, 4, 12], sliding [2]> -> (tensor<2x4x10x12xf32>) {
    %0 = graph.conv2d %a, %c : (tensor<2x4x10x12xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x10x12xf32>
    %1 = graph.conv2d %0, %b padding [1, 0, 1, 0] : (tensor<2x4x10x12xf32>, tensor<4x4x3x1xf32>) -> tensor<2x4x10x12xf32>
    %2 = graph.add %1, %a : (tensor<2x4x10x12xf32>, tensor<2x4x10x12xf32>) -> tensor<2x4x10x12xf32>
    graph.yield %2 : tensor<2x4x10x12xf32>
  }
  func.return %y : tensor<2x4x10x12xf32>
}

// The halo of the input, value 0 of the group, is read again instead.
// CHECK-LABEL: func.func @again
// CHECK:         tile.while ([[I:%.*]] = 0 to 10 step 4) sequential mapping(loop) carry(%{{[0-9]+}} = {{.*}}, [[T:%.*]] = %{{[0-9]+}} : tensor<1x4x6x12xf32, #tile.encoding<L2>>) {
// CHECK:           tile.slice %x[0, 0, [[I]], 0] : {{.*}} -> tensor<1x4x5x12xf32, #tile.encoding<L2>>
// CHECK:           tile.roll [[T]]
// CHECK-NOT:       tile.roll
func.func @again(%x: tensor<1x4x10x12xf32>, %v: tensor<4x4x1x1xf32>, %w: tensor<4x4x3x1xf32>) -> tensor<1x4x10x12xf32> {
  %y = graph.group ins(%a = %x, %c = %v, %b = %w : tensor<1x4x10x12xf32>, tensor<4x4x1x1xf32>, tensor<4x4x3x1xf32>)
      plan #graph.plan<L2, tile [1, 4, 4, 12], sliding [2], recompute [0]> -> (tensor<1x4x10x12xf32>) {
    %0 = graph.conv2d %a, %c : (tensor<1x4x10x12xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x10x12xf32>
    %1 = graph.conv2d %0, %b padding [1, 0, 1, 0] : (tensor<1x4x10x12xf32>, tensor<4x4x3x1xf32>) -> tensor<1x4x10x12xf32>
    %2 = graph.add %1, %a : (tensor<1x4x10x12xf32>, tensor<1x4x10x12xf32>) -> tensor<1x4x10x12xf32>
    graph.yield %2 : tensor<1x4x10x12xf32>
  }
  func.return %y : tensor<1x4x10x12xf32>
}

// What is kept of a value is less than the tile that another one reads of it.
// CHECK-LABEL: func.func @pooled
// CHECK:         graph.max_pool2d {{.*}} -> tensor<1x4x2x8xf32, #tile.encoding<L2>>
// CHECK:         tile.while (%{{.*}} = 0 to 8 step 4) sequential
// CHECK:           graph.max_pool2d {{.*}} -> tensor<1x4x4x8xf32, #tile.encoding<L2>>
func.func @pooled(%x: tensor<1x4x16x16xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32> {
  %0 = graph.group ins(%i = %x, %k = %w : tensor<1x4x16x16xf32>, tensor<4x4x3x3xf32>) plan #graph.plan<L2, tile [1, 4, 4, 8], sliding [2]> -> (tensor<1x4x8x8xf32>) {
    %1 = graph.relu %i : tensor<1x4x16x16xf32>
    %2 = graph.max_pool2d %1 kernel [3, 3] strides [2, 2] padding [1, 1, 1, 1] : (tensor<1x4x16x16xf32>) -> tensor<1x4x8x8xf32>
    %3 = graph.relu %2 : tensor<1x4x8x8xf32>
    %4 = graph.conv2d %3, %k padding [1, 1, 1, 1] : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
    %5 = graph.add %4, %3 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
    graph.yield %5 : tensor<1x4x8x8xf32>
  }
  func.return %0 : tensor<1x4x8x8xf32>
}
