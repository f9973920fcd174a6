// RUN: tlf-opt %s --target npu-tiny -p convert-graph-to-tile | filecheck %s

// A plan is legal input whoever wrote it: mapping, order and stages are those of the
// loops; an axis that one tile covers has none, and is no part of the order.
// CHECK-LABEL: func.func @order
// CHECK:         tile.while (%{{.*}} = 0 to 6 step 2, %{{.*}} = 0 to 20 step 8) parallel mapping(grid) order(1, 0) into(
// CHECK:           tile.while (%{{.*}} = 0 to 30 step 10) sequential mapping(loop) stages(3) carry(
func.func @order(%x: tensor<6x10x30xf32>, %w: tensor<6x30x20xf32>) -> tensor<6x10x20xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<6x10x30xf32>, tensor<6x30x20xf32>)
      plan #graph.plan<L1, tile [2, 10, 8], reduce [10], mapping grid, order [2, 1, 0], stages 3> -> (tensor<6x10x20xf32>) {
    %0 = graph.matmul %a, %b : (tensor<6x10x30xf32>, tensor<6x30x20xf32>) -> tensor<6x10x20xf32>
    graph.yield %0 : tensor<6x10x20xf32>
  }
  func.return %y : tensor<6x10x20xf32>
}

// An order counts the axes that have tile sizes, wherever reductions lie between them.
// Loops of a program are nested in it, and what moves with the outer ones only is cut
// there.
// CHECK-LABEL: func.func @between
// CHECK:         tile.while ([[K:%.*]] = 0 to 20 step 4) parallel mapping(loop) into(
// CHECK-NEXT:      tile.slice %w[[[K]], 0]
// CHECK-NEXT:      tile.while (%{{.*}} = 0 to 6 step 2, %{{.*}} = 0 to 10 step 5) parallel mapping(loop) into(
func.func @between(%x: tensor<6x10x30xf32>, %w: tensor<20x30xf32>) -> tensor<6x10x20xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<6x10x30xf32>, tensor<20x30xf32>)
      plan #graph.plan<L1, tile [2, 5, 4], order [2, 0, 1]> -> (tensor<6x10x20xf32>) {
    %0 = graph.contract %a, %b maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>]
        : (tensor<6x10x30xf32>, tensor<20x30xf32>) -> tensor<6x10x20xf32>
    graph.yield %0 : tensor<6x10x20xf32>
  }
  func.return %y : tensor<6x10x20xf32>
}

// As many pieces of a reduction overlap as tiles do, unless the plan says otherwise.
// CHECK-LABEL: func.func @pieces
// CHECK:         tile.while (%{{.*}} = 0 to 10 step 5, %{{.*}} = 0 to 20 step 4) parallel mapping(loop) stages(2) into(
// CHECK:           tile.while (%{{.*}} = 0 to 30 step 10) sequential mapping(loop) stages(3) carry(
func.func @pieces(%x: tensor<10x30xf32>, %w: tensor<30x20xf32>) -> tensor<10x20xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<10x30xf32>, tensor<30x20xf32>)
      plan #graph.plan<L1, tile [5, 4], reduce [10], stages 2, reduce_stages 3> -> (tensor<10x20xf32>) {
    %0 = graph.matmul %a, %b : (tensor<10x30xf32>, tensor<30x20xf32>) -> tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  func.return %y : tensor<10x20xf32>
}

// The usual order is not written down.
// CHECK-LABEL: func.func @usual
// CHECK:         tile.while (%{{.*}} = 0 to 10 step 4, %{{.*}} = 0 to 20 step 8) parallel mapping(unroll) into(
func.func @usual(%x: tensor<3x10x20xf32>) -> tensor<3x10x20xf32> {
  %y = graph.group ins(%a = %x : tensor<3x10x20xf32>)
      plan #graph.plan<L2, tile [3, 4, 8], mapping unroll, order [1, 0, 2]> -> (tensor<3x10x20xf32>) {
    %0 = graph.exp %a : tensor<3x10x20xf32>
    graph.yield %0 : tensor<3x10x20xf32>
  }
  func.return %y : tensor<3x10x20xf32>
}

// Tiles may be larger than the tensor, and reductions run whole unless told otherwise:
// no loop is left.
// CHECK-LABEL: func.func @whole
// CHECK:         tile.while () parallel mapping(grid) into(
// CHECK-NEXT:      tile.slice %x[0, 0] : tensor<10x30xf32> -> tensor<10x30xf32, #tile.encoding<L1>>
// CHECK-NEXT:      tile.slice %w[0, 0] : tensor<30x20xf32> -> tensor<30x20xf32, #tile.encoding<L1>>
// CHECK-NEXT:      graph.matmul
// CHECK-NEXT:      tile.deslice
// CHECK-NEXT:      tile.yield
func.func @whole(%x: tensor<10x30xf32>, %w: tensor<30x20xf32>) -> tensor<10x20xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<10x30xf32>, tensor<30x20xf32>)
      plan #graph.plan<L1, tile [10, 20], mapping grid> -> (tensor<10x20xf32>) {
    %0 = graph.matmul %a, %b : (tensor<10x30xf32>, tensor<30x20xf32>) -> tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  func.return %y : tensor<10x20xf32>
}

// What no group holds stays.
// CHECK-LABEL: func.func @outside
// CHECK-NEXT:    graph.exp %x
// CHECK-NEXT:    func.return
func.func @outside(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.exp %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// Tiles of tiles: offsets count from the tile that they are cut from.
// CHECK-LABEL: func.func @again
// CHECK:         tile.while ([[I:%.*]] = 0 to 100 step 16) parallel
// CHECK-NEXT:      [[T:%.*]] = tile.slice %x[[[I]], 0]
// CHECK-NEXT:      [[E:%.*]] = tile.empty : tensor<16x64xf32, #tile.encoding<L2>>
// CHECK-NEXT:      [[G:%.*]] = tile.while ([[J:%.*]] = 0 to 16 step 5) parallel mapping(loop) into([[O:%.*]] = [[E]] :
// CHECK-NEXT:        [[U:%.*]] = tile.slice [[T]][[[J]], 0] : tensor<16x64xf32, #tile.encoding<L2>> -> tensor<5x64xf32, #tile.encoding<L1>>
// CHECK-NEXT:        [[V:%.*]] = graph.exp [[U]]
// CHECK-NEXT:        tile.deslice [[V]] into [[O]][[[J]], 0] : tensor<5x64xf32, #tile.encoding<L1>> into tensor<16x64xf32, #tile.encoding<L2>>
// CHECK:           tile.deslice [[G]] into
func.func @again(%x: tensor<100x64xf32>) -> tensor<100x64xf32> {
  %e = tile.empty : tensor<100x64xf32>
  %y = tile.while (%i = 0 to 100 step 16) parallel into(%o = %e : tensor<100x64xf32>) {
    %t = tile.slice %x[%i, 0] : tensor<100x64xf32> -> tensor<16x64xf32, #tile.encoding<L2>>
    %0 = graph.group ins(%a = %t : tensor<16x64xf32, #tile.encoding<L2>>) plan #graph.plan<L1, tile [5, 64]> -> (tensor<16x64xf32, #tile.encoding<L2>>) {
      %1 = graph.exp %a : tensor<16x64xf32, #tile.encoding<L2>>
      graph.yield %1 : tensor<16x64xf32, #tile.encoding<L2>>
    }
    %d = tile.deslice %0 into %o[%i, 0] : tensor<16x64xf32, #tile.encoding<L2>> into tensor<100x64xf32>
    tile.yield %d : tensor<100x64xf32>
  }
  func.return %y : tensor<100x64xf32>
}
