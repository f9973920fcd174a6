// RUN: tlf-opt %s --target h200 -p graph-decompose | filecheck %s

// Rows are sorted in tiles, if there is room for them.
// CHECK-LABEL: func.func @rows
// CHECK-SAME:    "sort is not decomposed: the target sorts tiles natively"
// CHECK-NEXT:    graph.sort %x axis 1
// CHECK-NEXT:    func.return
func.func @rows(%x: tensor<4096x1000xf32>) -> (tensor<4096x1000xf32>, tensor<4096x1000xi64>) {
  %v, %i = graph.sort %x axis 1 : (tensor<4096x1000xf32>) -> (tensor<4096x1000xf32>, tensor<4096x1000xi64>)
  func.return %v, %i : tensor<4096x1000xf32>, tensor<4096x1000xi64>
}

// Columns become rows.
// CHECK-LABEL: func.func @columns
// CHECK-SAME:    "sort sorts along the last axis of a transposed tensor"
// CHECK-NEXT:    [[X:%.*]] = graph.transpose %x permutation [0, 2, 1] : (tensor<8x1000x512xf16>) -> tensor<8x512x1000xf16>
// CHECK-NEXT:    [[V:%.*]], [[I:%.*]] = graph.sort [[X]] axis 2 descending : (tensor<8x512x1000xf16>) -> (tensor<8x512x9xf16>, tensor<8x512x9xi64>)
// CHECK-NEXT:    graph.transpose [[V]] permutation [0, 2, 1]
// CHECK-NEXT:    graph.transpose [[I]] permutation [0, 2, 1]
func.func @columns(%x: tensor<8x1000x512xf16>) -> (tensor<8x9x512xf16>, tensor<8x9x512xi64>) {
  %v, %i = graph.sort %x axis 1 descending : (tensor<8x1000x512xf16>) -> (tensor<8x9x512xf16>, tensor<8x9x512xi64>)
  func.return %v, %i : tensor<8x9x512xf16>, tensor<8x9x512xi64>
}

// Elements of few, long or wide rows are compared.
// CHECK-LABEL: func.func @long
// CHECK-NOT:     graph.sort
// CHECK-LABEL: func.func @short
// CHECK-NOT:     graph.sort
// CHECK-LABEL: func.func @wide
// CHECK-NOT:     graph.sort
func.func @long(%x: tensor<64x5000xf32>) -> tensor<64x5000xi64> {
  %v, %i = graph.sort %x axis 1 : (tensor<64x5000xf32>) -> (tensor<64x5000xf32>, tensor<64x5000xi64>)
  func.return %i : tensor<64x5000xi64>
}
func.func @short(%x: tensor<4096x10xf32>) -> tensor<4096x10xi64> {
  %v, %i = graph.sort %x axis 1 : (tensor<4096x10xf32>) -> (tensor<4096x10xf32>, tensor<4096x10xi64>)
  func.return %i : tensor<4096x10xi64>
}
func.func @wide(%x: tensor<4096x1000xi64>) -> tensor<4096x1000xi64> {
  %v, %i = graph.sort %x axis 1 : (tensor<4096x1000xi64>) -> (tensor<4096x1000xi64>, tensor<4096x1000xi64>)
  func.return %i : tensor<4096x1000xi64>
}
