// RUN: tlf-opt %s --target npu-tiny -p "convert-graph-to-tile" | filecheck %s

// A 1x1 and a 3x3 convolution whose tiles roll along rows, with a lead: the first
// window is computed before the loop, each iteration reads its window and appends to
// it, and the last one, behind the loop, appends nothing.

// CHECK-LABEL: func.func @lead
func.func @lead(%x: tensor<1x4x12x6xf32>, %v: tensor<4x4x1x1xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x4x12x6xf32> {
  // CHECK:      graph.conv2d {{.*}} -> tensor<1x4x6x6xf32, #tile.encoding<L2>>
  // CHECK-NEXT: [[FIRST:%.*]] = tile.mask
  // CHECK:      [[RESULT:%.*]], [[WINDOW:%.*]] = tile.while (%i = 0 to 8 step 4) sequential
  // CHECK-SAME: carry([[INTO:%.*]] = {{.*}}, [[OLD:%.*]] = {{.*}} : tensor<1x4x6x6xf32
  // CHECK-NEXT: [[Y:%.*]] = graph.conv2d [[OLD]]
  // CHECK-NEXT: affine.apply affine_map<(d0) -> ((d0 + 5))>
  // CHECK:      [[NEXT:%.*]] = tile.mask
  // CHECK-NEXT: [[NEW:%.*]] = tile.roll [[OLD]], [[NEXT]] axis 2
  // CHECK-NEXT: [[PUT:%.*]] = tile.deslice [[Y]] into [[INTO]]
  // CHECK-NEXT: tile.yield [[PUT]], [[NEW]]
  // CHECK:      [[LAST:%.*]] = graph.conv2d [[WINDOW]]
  // CHECK-NEXT: tile.deslice [[LAST]] into [[RESULT]][0, 0, 8, 0]
  %y = graph.group ins(%a = %x, %b = %v, %c = %w : tensor<1x4x12x6xf32>, tensor<4x4x1x1xf32>, tensor<4x4x3x3xf32>) plan #graph.plan<L2, tile [1, 4, 4, 6], mapping loop, sliding [2], prefetch_distance 1> -> (tensor<1x4x12x6xf32>) {
    %0 = graph.conv2d %a, %b : (tensor<1x4x12x6xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x12x6xf32>
    %1 = graph.conv2d %0, %c padding [1, 1, 1, 1] : (tensor<1x4x12x6xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x12x6xf32>
    graph.yield %1 : tensor<1x4x12x6xf32>
  }
  func.return %y : tensor<1x4x12x6xf32>
}
