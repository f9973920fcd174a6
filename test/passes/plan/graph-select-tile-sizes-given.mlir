// RUN: tlf-opt %s --target npu-tiny -p "graph-select-tile-sizes{tile=7,9 reduce=5}" | filecheck %s
// RUN: tlf-opt %s --target npu-tiny -p "graph-select-tile-sizes{level=L1 tile=7,9}" | filecheck %s --check-prefix=WHOLE
// RUN: not tlf-opt %s --target npu-tiny -p "graph-select-tile-sizes{tile=7}" 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: not tlf-opt %s --target npu-tiny -p "graph-select-tile-sizes{tile=7,9 reduce=5,5}" 2>&1 | filecheck %s --check-prefix=REDUCE

// Sizes that are given are used as they are; without reduction sizes, reductions run
// whole.
// CHECK: plan #graph.plan<L2, tile [7, 9], reduce [5], mapping loop>
// WHOLE: plan #graph.plan<L1, tile [7, 9], mapping loop>
// COUNT: error: graph.group: expected 2 tile sizes, one per parallel iterator of graph.matmul, got 1
// REDUCE: error: graph.group: expected 1 reduce sizes, one per reduction iterator of graph.matmul, got 2
func.func @matmul(%x: tensor<100x300xf32>, %w: tensor<300x200xf32>) -> tensor<100x200xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<100x300xf32>, tensor<300x200xf32>) -> (tensor<100x200xf32>) {
    %0 = graph.matmul %a, %b : (tensor<100x300xf32>, tensor<300x200xf32>) -> tensor<100x200xf32>
    graph.yield %0 : tensor<100x200xf32>
  }
  func.return %y : tensor<100x200xf32>
}
