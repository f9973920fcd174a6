// RUN: tlf-opt %s --target h200 -p convert-graph-to-tile | filecheck %s

// A loop over the tiles of a scan is sequential and carries the total; others are
// parallel.
// CHECK-LABEL: func.func @rows
// CHECK: tile.while (%i = 0 to 6 step 2) parallel mapping(grid) into(%[[O:.*]] = %{{.*}} : tensor<6x100xf32>) {
// CHECK: %[[ZERO:.*]] = tile.fill 0.000000e+00 : f32 : tensor<2x1xf32, #tile.encoding<L1>>
// CHECK: tile.while (%j = 0 to 100 step 16) sequential mapping(loop) carry(%[[D:.*]] = %[[O]] : tensor<6x100xf32>, %[[T:.*]] = %[[ZERO]] : tensor<2x1xf32, #tile.encoding<L1>>) {
// CHECK: %[[X:.*]] = tile.slice %x[%i, %j]
// CHECK: %[[E:.*]] = graph.exp %[[X]]
// CHECK: %[[S:.*]] = graph.cumulate %[[E]] <sum> axis 1
// CHECK: %[[Y:.*]] = graph.add %[[T]], %[[S]]
// CHECK: %[[N:.*]] = graph.reduce %[[E]] <sum> init %[[T]] axes [1] keepdims acc f32
// CHECK: %[[R:.*]] = tile.deslice %[[Y]] into %[[D]][%i, %j]
// CHECK: tile.yield %[[R]], %[[N]]
func.func @rows(%x: tensor<6x100xf32>) -> tensor<6x100xf32> {
  %y = graph.group ins(%a = %x : tensor<6x100xf32>) plan #graph.plan<L1, tile [2, 16], mapping grid> -> (tensor<6x100xf32>) {
    %0 = graph.exp %a : tensor<6x100xf32>
    %1 = graph.cumulate %0 <sum> axis 1 : (tensor<6x100xf32>) -> tensor<6x100xf32>
    graph.yield %1 : tensor<6x100xf32>
  }
  func.return %y : tensor<6x100xf32>
}

// A tile with the whole axis carries nothing.
// CHECK-LABEL: func.func @whole
// CHECK: tile.while (%i = 0 to 6 step 2) parallel
// CHECK-NOT: sequential
// CHECK: graph.cumulate {{.*}} <max> axis 1
// CHECK-NOT: graph.maximum
func.func @whole(%x: tensor<6x100xf32>) -> tensor<6x100xf32> {
  %y = graph.group ins(%a = %x : tensor<6x100xf32>) plan #graph.plan<L1, tile [2, 128], mapping grid> -> (tensor<6x100xf32>) {
    %1 = graph.cumulate %a <max> axis 1 : (tensor<6x100xf32>) -> tensor<6x100xf32>
    graph.yield %1 : tensor<6x100xf32>
  }
  func.return %y : tensor<6x100xf32>
}

// Two scans share a loop, and the tile of the bias, which does not move with it, is
// sliced before it.
// CHECK-LABEL: func.func @two
// CHECK: parallel
// CHECK: tile.slice %b[%j]
// CHECK: tile.while (%i = 0 to 100 step 8) sequential
// CHECK-SAME: tensor<1x4xf32, #tile.encoding<L1>>, {{.*}} : tensor<1x4xf32, #tile.encoding<L1>>) {
func.func @two(%x: tensor<100x8xf32>, %b: tensor<8xf32>) -> tensor<100x8xf32> {
  %y = graph.group ins(%a = %x, %c = %b : tensor<100x8xf32>, tensor<8xf32>) plan #graph.plan<L1, tile [8, 4], mapping grid> -> (tensor<100x8xf32>) {
    %0 = graph.cumulate %a <prod> axis 0 : (tensor<100x8xf32>) -> tensor<100x8xf32>
    %1 = graph.add %0, %c : (tensor<100x8xf32>, tensor<8xf32>) -> tensor<100x8xf32>
    %2 = graph.cumulate %1 <sum> axis 0 : (tensor<100x8xf32>) -> tensor<100x8xf32>
    graph.yield %2 : tensor<100x8xf32>
  }
  func.return %y : tensor<100x8xf32>
}

// From the last tile to the first, with neutral elements behind the last one.
// CHECK-LABEL: func.func @reversed
// CHECK: tile.while (%i = 0 to 100 step 16) sequential
// CHECK: %[[I:.*]] = affine.apply affine_map<(d0) -> (((d0 * -1) + 96))> (%i)
// CHECK: tile.slice %x[%[[I]]] {{.*}}fill 0.000000e+00
// CHECK: graph.cumulate {{.*}} <sum> axis 0 reverse
// CHECK: tile.deslice {{.*}}[%[[I]]]
func.func @reversed(%x: tensor<100xf32>) -> tensor<100xf32> {
  %y = graph.group ins(%a = %x : tensor<100xf32>) plan #graph.plan<L1, tile [16], mapping grid> -> (tensor<100xf32>) {
    %1 = graph.cumulate %a <sum> axis 0 reverse : (tensor<100xf32>) -> tensor<100xf32>
    graph.yield %1 : tensor<100xf32>
  }
  func.return %y : tensor<100xf32>
}
