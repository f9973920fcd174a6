// RUN: tlf-opt %s --target npu -p convert-graph-to-tile | filecheck %s

// What a group cuts of its input, the slice that brings a tile near leaves out.
// CHECK-LABEL: func.func @part(
// CHECK:         [[X:%.*]] = tile.slice %x[%i, 8] : tensor<8x16xf32> -> tensor<4x8xf32, #tile.encoding<L1>>
// CHECK-NEXT:    [[Y:%.*]] = graph.exp [[X]]
// CHECK-NEXT:    tile.deslice [[Y]]
func.func @part(%x: tensor<8x16xf32>) -> tensor<8x8xf32> {
  %y = graph.group ins(%a = %x : tensor<8x16xf32>)
      plan #graph.plan<L1, tile [4, 8], mapping loop> -> (tensor<8x8xf32>) {
    %0 = graph.slice %a offsets [0, 8] strides [1, 1]
        : (tensor<8x16xf32>) -> tensor<8x8xf32>
    %1 = graph.exp %0 : tensor<8x8xf32>
    graph.yield %1 : tensor<8x8xf32>
  }
  func.return %y : tensor<8x8xf32>
}
