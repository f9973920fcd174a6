// RUN: tlf-opt %s --target npu-tiny -p "graph-group{level=L1 cascades=false}" | filecheck %s

// In the body of a loop over tiles of L2, operations are grouped once more; a group
// that is there already stays as it is.
// CHECK-LABEL: func.func @tiles
// CHECK:         tile.while
// CHECK-NEXT:      [[T:%.*]] = tile.slice %x
// CHECK-NEXT:      [[G:%.*]] = graph.group ins([[A:%.*]] = [[T]] : tensor<16x64xf32, #tile.encoding<L2>>) -> (tensor<16x64xf32, #tile.encoding<L2>>) {
// CHECK-NEXT:        [[B:%.*]] = graph.exp [[A]]
// CHECK-NEXT:        graph.relu [[B]]
// CHECK:           [[H:%.*]] = graph.group ins([[C:%.*]] = [[G]]
// CHECK-NEXT:        graph.tanh [[C]]
// CHECK-NEXT:        graph.yield
// CHECK:           tile.deslice [[H]]
func.func @tiles(%x: tensor<100x64xf32>) -> tensor<100x64xf32> {
  %e = tile.empty : tensor<100x64xf32>
  %y = tile.while (%i = 0 to 100 step 16) parallel into(%o = %e : tensor<100x64xf32>) {
    %t = tile.slice %x[%i, 0] : tensor<100x64xf32> -> tensor<16x64xf32, #tile.encoding<L2>>
    %0 = graph.exp %t : tensor<16x64xf32, #tile.encoding<L2>>
    %1 = graph.relu %0 : tensor<16x64xf32, #tile.encoding<L2>>
    %2 = graph.group ins(%a = %1 : tensor<16x64xf32, #tile.encoding<L2>>) -> (tensor<16x64xf32, #tile.encoding<L2>>) {
      %3 = graph.tanh %a : tensor<16x64xf32, #tile.encoding<L2>>
      graph.yield %3 : tensor<16x64xf32, #tile.encoding<L2>>
    }
    %d = tile.deslice %2 into %o[%i, 0] : tensor<16x64xf32, #tile.encoding<L2>> into tensor<100x64xf32>
    tile.yield %d : tensor<100x64xf32>
  }
  func.return %y : tensor<100x64xf32>
}

// What lives in the level already is not tiled for it.
// CHECK-LABEL: func.func @there
// CHECK-NOT:     graph.group
// CHECK:         func.return
func.func @there(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tile.empty : tensor<8xf32>
  %t = tile.slice %x[0] : tensor<8xf32> -> tensor<8xf32, #tile.encoding<L1>>
  %0 = graph.exp %t : tensor<8xf32, #tile.encoding<L1>>
  %d = tile.deslice %0 into %e[0] : tensor<8xf32, #tile.encoding<L1>> into tensor<8xf32>
  func.return %d : tensor<8xf32>
}

// A group comes before what uses it, although its last operation came later.
// CHECK-LABEL: func.func @order
// CHECK-NEXT:    [[R:%.*]], [[E:%.*]] = graph.group
// CHECK-NEXT:      [[A:%.*]] = graph.exp
// CHECK-NEXT:      [[B:%.*]] = graph.relu [[A]]
// CHECK-NEXT:      graph.yield [[B]], [[A]]
// CHECK:         [[M:%.*]] = graph.group ins([[X:%.*]] = [[E]]
// CHECK-NEXT:      graph.matmul [[X]]
// CHECK:         func.return [[M]], [[R]]
func.func @order(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = graph.exp %x : tensor<8x8xf32>
  %1 = graph.matmul %0, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = graph.relu %0 : tensor<8x8xf32>
  func.return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}
