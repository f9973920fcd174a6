// RUN: tlf-opt %s --target npu -p "graph-group{level=L2},graph-materialize-concat-operands,graph-select-tile-sizes{level=L2},convert-graph-to-tile,tile-verify-coverage" | filecheck %s
// RUN: tlf-opt %s --target npu -p "graph-group{level=L2},graph-materialize-concat-operands,graph-select-tile-sizes{level=L2},convert-graph-to-tile,convert-tile-to-mem" | filecheck %s --check-prefix=MEM

// The whole is there before the first part is made, so that each is made in its place.
// CHECK-LABEL: func.func @made
// CHECK-SAME:    tlf.stitched = [2 : i64]
// CHECK:         [[C:%.*]] = tile.empty : tensor<4x8xf32>
// CHECK:         %a = tile.while
// CHECK:         %b = tile.while
// CHECK:         [[D:%.*]] = tile.deslice %a into [[C]][0, 0] : tensor<4x6xf32> into tensor<4x8xf32>
// CHECK-NEXT:    tile.deslice %b into [[D]][0, 6] : tensor<4x2xf32> into tensor<4x8xf32>

// Nothing is stored but into parts of the result.
// MEM-LABEL:   func.func @made
// MEM-SAME:      [[R:%[^ ]*]]: memref<4x8xf32, "L3">
// MEM-NOT:       mem.alloc {{.*}}L3
// MEM:           [[A:%.*]] = memref.subview [[R]][0, 0] [4, 6]
// MEM:           mem.dma {{.*}} to [[A]]
// MEM:           [[B:%.*]] = memref.subview [[R]][0, 6] [4, 2]
// MEM:           mem.dma {{.*}} to [[B]]
func.func @made(%x: tensor<4x6xf32>, %y: tensor<4x2xf32>) -> tensor<4x8xf32> {
  %a = graph.neg %x : tensor<4x6xf32>
  %b = graph.abs %y : tensor<4x2xf32>
  %c = graph.concat %a, %b axis 1 : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>
  func.return %c : tensor<4x8xf32>
}

// So is a part whose axes are merged afterwards.
// CHECK-LABEL: func.func @merged
// CHECK:         [[C:%.*]] = tile.empty : tensor<4x8xf32>
// CHECK:         %a = tile.while
// CHECK:         [[R:%.*]] = graph.reshape %a : (tensor<4x2x3xf32>) -> tensor<4x6xf32>
// CHECK:         tile.deslice [[R]] into [[C]][0, 0]

// MEM-LABEL:   func.func @merged
// MEM-NOT:       mem.alloc {{.*}}L3
// MEM:           func.return
func.func @merged(%x: tensor<4x2x3xf32>, %y: tensor<4x2xf32>) -> tensor<4x8xf32> {
  %a = graph.neg %x : tensor<4x2x3xf32>
  %r = graph.reshape %a : (tensor<4x2x3xf32>) -> tensor<4x6xf32>
  %b = graph.abs %y : tensor<4x2xf32>
  %c = graph.concat %r, %b axis 1 : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>
  func.return %c : tensor<4x8xf32>
}
