// RUN: tlf-opt %s --target npu-tiny -p "graph-group{level=L1}" | filecheck %s

// Padding joins what computes its operand along axes that both iterate over,
// CHECK-LABEL: func.func @rows
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      graph.exp
// CHECK-NEXT:      graph.pad
// CHECK-NEXT:      graph.yield
// CHECK-NOT:     graph.group
func.func @rows(%x: tensor<20x4xf32>) -> tensor<26x4xf32> {
  %0 = graph.exp %x : tensor<20x4xf32>
  %1 = graph.pad %0 low [3, 0] high [3, 0] fill 0.0 : (tensor<20x4xf32>) -> tensor<26x4xf32>
  func.return %1 : tensor<26x4xf32>
}

// but not along one that a reduction has left.
// CHECK-LABEL: func.func @reduced
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      graph.reduce
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group
// CHECK-NEXT:      graph.pad
func.func @reduced(%x: tensor<20x4xf32>) -> tensor<20x5xf32> {
  %0 = graph.reduce %x <sum> axes [1] keepdims : (tensor<20x4xf32>) -> tensor<20x1xf32>
  %1 = graph.pad %0 low [0, 3] high [0, 1] fill 0.0 : (tensor<20x1xf32>) -> tensor<20x5xf32>
  func.return %1 : tensor<20x5xf32>
}

// A contraction shares loops with a little around its result,
// CHECK-LABEL: func.func @border
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      graph.matmul
// CHECK-NEXT:      graph.pad
// CHECK-NEXT:      graph.yield
// CHECK-NOT:     graph.group
func.func @border(%a: tensor<20x8xf32>, %b: tensor<8x16xf32>) -> tensor<22x16xf32> {
  %0 = graph.matmul %a, %b : (tensor<20x8xf32>, tensor<8x16xf32>) -> tensor<20x16xf32>
  %1 = graph.pad %0 low [1, 0] high [1, 0] fill 0.0 : (tensor<20x16xf32>) -> tensor<22x16xf32>
  func.return %1 : tensor<22x16xf32>
}

// but not with as much again, for which it would run, too.
// CHECK-LABEL: func.func @half
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      graph.matmul
// CHECK-NEXT:      graph.relu
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group
// CHECK-NEXT:      graph.pad
func.func @half(%a: tensor<20x8xf32>, %b: tensor<8x16xf32>) -> tensor<20x32xf32> {
  %0 = graph.matmul %a, %b : (tensor<20x8xf32>, tensor<8x16xf32>) -> tensor<20x16xf32>
  %1 = graph.relu %0 : tensor<20x16xf32>
  %2 = graph.pad %1 low [0, 16] high [0, 0] fill 0.0 : (tensor<20x16xf32>) -> tensor<20x32xf32>
  func.return %2 : tensor<20x32xf32>
}

// Nor does a reduction: maxima are computed once, not for all that they are put beside.
// CHECK-LABEL: func.func @beside
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      graph.max_pool2d
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group
// CHECK-NEXT:      graph.pad
func.func @beside(%x: tensor<1x4x8x8xf32>) -> tensor<1x8x8x8xf32> {
  %0 = graph.max_pool2d %x kernel [3, 3] padding [1, 1, 1, 1] : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %1 = graph.pad %0 low [0, 4, 0, 0] high [0, 0, 0, 0] fill 0.0 : (tensor<1x4x8x8xf32>) -> tensor<1x8x8x8xf32>
  func.return %1 : tensor<1x8x8x8xf32>
}
