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

// The first elements of long rows are selected from those of chunks, the last of which is
// padded.
// CHECK-LABEL: func.func @vocabulary
// CHECK-SAME:    "sort selects from the first elements of chunks of 2048"
// CHECK-NEXT:    [[P:%.*]] = graph.pad %x low [0, 0] high [0, 768] fill -inf
// CHECK-NEXT:    [[C:%.*]] = graph.reshape [[P]] : (tensor<4x129024xf32>) -> tensor<4x63x2048xf32>
// CHECK-NEXT:    [[V:%.*]], [[I:%.*]] = graph.sort [[C]] axis 2 descending : (tensor<4x63x2048xf32>) -> (tensor<4x63x50xf32>, tensor<4x63x50xi64>)
// CHECK:         [[F:%.*]] = graph.reshape [[V]] : (tensor<4x63x50xf32>) -> tensor<4x3150xf32>
// CHECK-NEXT:    [[W:%.*]], [[J:%.*]] = graph.sort [[F]] axis 1 descending : (tensor<4x3150xf32>) -> (tensor<4x50xf32>, tensor<4x50xi64>)
// CHECK-NEXT:    [[N:%.*]] = graph.reshape
// CHECK-NEXT:    [[K:%.*]] = graph.gather [[N]], [[J]] axis 1
// CHECK-NEXT:    func.return [[W]], [[K]]
func.func @vocabulary(%x: tensor<4x128256xf32>) -> (tensor<4x50xf32>, tensor<4x50xi64>) {
  %v, %i = graph.sort %x axis 1 descending : (tensor<4x128256xf32>) -> (tensor<4x50xf32>, tensor<4x50xi64>)
  func.return %v, %i : tensor<4x50xf32>, tensor<4x50xi64>
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
