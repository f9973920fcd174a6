// Tensors that lie with their channels last, from groups down to instructions.
//
// RUN: tlf-opt %s --target npu-tiny -p "convert-graph-to-tile" | filecheck %s --check-prefix=TILE
// RUN: tlf-opt %s --target npu-tiny -o %t -p "convert-graph-to-tile,graph-group{level=L1},graph-select-tile-sizes{level=L1},dce,convert-graph-to-tile,tidy,convert-tile-to-mem,tidy"
// RUN: filecheck %s --check-prefix=MEM --input-file %t
// RUN: tlf-opt %t -o %t.npu -t npu -p "mem-fold-fills,mem-pipeline,mem-split-maps,mem-plan,convert-mem-to-npu,tidy"
// RUN: filecheck %s --check-prefix=NPU --input-file %t.npu
// RUN: tlf-run %s --target npu-tiny --check -p "convert-graph-to-tile,graph-group{level=L1},graph-select-tile-sizes{level=L1},dce,convert-graph-to-tile,tidy,convert-tile-to-mem,tidy,mem-fold-fills,mem-pipeline,mem-split-maps,mem-plan,convert-mem-to-npu,tidy" | filecheck %s --check-prefix=RESULT

!image = tensor<1x8x6x10xf16, #tile.encoding<layout = [0, 2, 3, 1]>>
!plain = tensor<1x8x6x10xf16>

// Tiles in the next level keep the order of what they are cut from; those in the nearest
// level, where engines compute, do not.
// TILE-LABEL: func.func @f
// TILE:      tile.empty : tensor<1x8x6x10xf16, #tile.encoding<layout = [0, 2, 3, 1]>>
// TILE:      tile.slice %x{{.*}} -> tensor<1x8x6x5xf16, #tile.encoding<L2, layout = [0, 2, 3, 1]>>
// TILE:      graph.relu {{.*}} -> tensor<1x8x6x5xf16, #tile.encoding<L2>>
// TILE:      tile.slice %y{{.*}} -> tensor<1x8x6x5xf16, #tile.encoding<L2>>
// TILE:      tile.deslice {{.*}}: tensor<1x8x6x5xf16, #tile.encoding<L2, layout = [0, 2, 3, 1]>> into

// MEM-LABEL: func.func @f
// MEM-SAME:  %x: memref<1x8x6x10xf16, strided<[480, 1, 80, 8]>, "L3">
// MEM:       mem.alloc : memref<1x8x6x5xf16, strided<[240, 1, 40, 8]>, "L2">
// MEM:       mem.alloc : memref<1x8x6x5xf16, "L2">
// MEM:       mem.alloc : memref<1x8x6x5xf16, "L1">

// A row of the tile, 5 pixels of 8 channels, is one run in both memories.
// NPU:      .input x L3 0 f16 1x8x6x10 order=0,2,3,1
// NPU-NEXT: .input y L3 1024 f16 1x8x6x10{{$}}
// NPU-NEXT: .output result0 L3 2048 f16 1x8x6x10 order=0,2,3,1
// NPU:      dma dma_l3_l2 dst={{.*}}(80, 2) src={{.*}}(160, 2) shape=(6, 40)
// NPU:      dma dma_l3_l2 dst={{.*}}(10, 2) src={{.*}}(20, 2) shape=(48, 5)
// NPU:      dma dma_l2_l1 dst={{.*}}(2, 60) src={{.*}}(16, 2) shape=(30, 8)
// NPU:      dma dma_l2_l3 dst={{.*}}(160, 2) src={{.*}}(80, 2) shape=(6, 40)

// RESULT: error of result {{.*}}: ok
func.func @f(%x: !image, %y: !plain) -> !image {
  %1 = graph.group ins(%a = %x, %b = %y : !image, !plain)
      plan #graph.plan<L2, tile [1, 8, 6, 5], mapping loop> -> (!image) {
    %2 = graph.relu %a : (!image) -> !plain
    %3 = graph.add %2, %b : (!plain, !plain) -> !image
    graph.yield %3 : !image
  }
  func.return %1 : !image
}
