// RUN: tlf-opt %s --target npu-tiny -p "graph-select-tile-sizes{level=L1 strategy=largest}" | filecheck %s
// RUN: tlf-opt %s --target npu-tiny -p "graph-select-tile-sizes{strategy=largest}" | filecheck %s --check-prefix=L2

// Everything fits: axes stay whole.
// CHECK-LABEL: func.func @small
// CHECK:         plan #graph.plan<L1, tile [10, 30], mapping loop>
// L2-LABEL: func.func @small
// L2:         plan #graph.plan<L2, tile [10, 30], mapping loop>
func.func @small(%x: tensor<10x30xf32>) -> tensor<10x30xf32> {
  %y = graph.group ins(%a = %x : tensor<10x30xf32>) -> (tensor<10x30xf32>) {
    %0 = graph.exp %a : tensor<10x30xf32>
    graph.yield %0 : tensor<10x30xf32>
  }
  func.return %y : tensor<10x30xf32>
}

// Axes of a product are halved until 25x19, 19x25 and 25x25 elements, each rounded up to
// 64 bytes, fit into 8192 bytes: 1920 + 1920 + 2560.
// CHECK-LABEL: func.func @matmul
// CHECK:         plan #graph.plan<L1, tile [25, 25], reduce [19], mapping loop>
// L2-LABEL: func.func @matmul
// L2:         plan #graph.plan<L2, tile [50, 100], reduce [75], mapping loop>
func.func @matmul(%x: tensor<100x300xf32>, %w: tensor<300x200xf32>) -> tensor<100x200xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<100x300xf32>, tensor<300x200xf32>) -> (tensor<100x200xf32>) {
    %0 = graph.matmul %a, %b : (tensor<100x300xf32>, tensor<300x200xf32>) -> tensor<100x200xf32>
    graph.yield %0 : tensor<100x200xf32>
  }
  func.return %y : tensor<100x200xf32>
}

// The axis that reductions run along stays whole, or they would be computed again for
// each of its tiles; with two of them, none has a loop.
// CHECK-LABEL: func.func @rows
// CHECK:         plan #graph.plan<L1, tile [1, 300], mapping loop>
// L2-LABEL: func.func @rows
// L2:         plan #graph.plan<L2, tile [13, 300], mapping loop>
func.func @rows(%x: tensor<400x300xf32>) -> tensor<400x300xf32> {
  %y = graph.group ins(%a = %x : tensor<400x300xf32>) -> (tensor<400x300xf32>) {
    %0 = graph.reduce %a <max> axes [1] keepdims : (tensor<400x300xf32>) -> tensor<400x1xf32>
    %1 = graph.sub %a, %0 : (tensor<400x300xf32>, tensor<400x1xf32>) -> tensor<400x300xf32>
    %2 = graph.exp %1 : tensor<400x300xf32>
    %3 = graph.reduce %2 <sum> axes [1] keepdims : (tensor<400x300xf32>) -> tensor<400x1xf32>
    %4 = graph.div %2, %3 : (tensor<400x300xf32>, tensor<400x1xf32>) -> tensor<400x300xf32>
    graph.yield %4 : tensor<400x300xf32>
  }
  func.return %y : tensor<400x300xf32>
}

// A convolution in groups holds the filters of one group; taps and channels may be cut.
// CHECK-LABEL: func.func @groups
// CHECK:         plan #graph.plan<L1, tile [1, 1, 4, 14, 14], reduce [3, 3, 3], mapping loop>
func.func @groups(%x: tensor<2x6x30x30xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<2x8x28x28xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<2x6x30x30xf32>, tensor<8x3x3x3xf32>) -> (tensor<2x8x28x28xf32>) {
    %0 = graph.conv2d %a, %b groups 2 : (tensor<2x6x30x30xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x28x28xf32>
    graph.yield %0 : tensor<2x8x28x28xf32>
  }
  func.return %y : tensor<2x8x28x28xf32>
}

// A plan that is there stays.
// CHECK-LABEL: func.func @planned
// CHECK:         plan #graph.plan<L2, tile [3, 5], mapping unroll, order [1, 0]>
func.func @planned(%x: tensor<10x30xf32>) -> tensor<10x30xf32> {
  %y = graph.group ins(%a = %x : tensor<10x30xf32>) plan #graph.plan<L2, tile [3, 5], mapping unroll, order [1, 0]> -> (tensor<10x30xf32>) {
    %0 = graph.exp %a : tensor<10x30xf32>
    graph.yield %0 : tensor<10x30xf32>
  }
  func.return %y : tensor<10x30xf32>
}
