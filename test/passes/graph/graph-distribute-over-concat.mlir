// RUN: tlf-opt %s -p "graph-distribute-over-concat,tidy" --split-input-file | filecheck %s

// A softmax over scores and one further score, of which only the weights of the first are
// needed: nothing is joined, and rows stay as long as they were.
// CHECK-LABEL: func.func @sink
// CHECK-SAME:    #graph.remark<passed "graph-distribute-over-concat" "2 concat operands are computed separately" at "{{[0-9]+:[0-9]+}}">
// CHECK-NOT:     graph.concat
// CHECK-DAG:     [[A:%.*]] = graph.reduce %s <max> axes [1] keepdims : (tensor<64x128xf32>) -> tensor<64x1xf32>
// CHECK:         graph.maximum
// CHECK:         graph.reduce {{.*}} <sum> axes [1] keepdims : (tensor<64x128xf32>) -> tensor<64x1xf32>
// CHECK:         graph.add
// CHECK-NOT:     graph.slice
// CHECK:         func.return {{.*}} : tensor<64x128xf32>
func.func @sink(%s: tensor<64x128xf32>, %k: tensor<64x1xf32>) -> tensor<64x128xf32> {
  %j = graph.concat %s, %k axis 1 : (tensor<64x128xf32>, tensor<64x1xf32>) -> tensor<64x129xf32>
  %p = graph.softmax %j axis 1 : (tensor<64x129xf32>) -> tensor<64x129xf32>
  %y = graph.slice %p offsets [0, 0] strides [1, 1] : (tensor<64x129xf32>) -> tensor<64x128xf32>
  func.return %y : tensor<64x128xf32>
}

// -----

// Another tensor as long as what is joined is cut; what is reduced along another axis
// has to be joined.
// CHECK-LABEL: func.func @cut
// CHECK-NOT:     graph.concat
// CHECK:         graph.slice %b offsets [0, 0]
// CHECK:         graph.slice %b offsets [0, 3]
// CHECK-COUNT-2: graph.reduce {{.*}} <min> axes [1]
// CHECK:         graph.minimum
func.func @cut(%x: tensor<4x3xf16>, %y: tensor<4x5xf16>, %b: tensor<1x8xf16>) -> tensor<4xf16> {
  %j = graph.concat %x, %y axis 1 : (tensor<4x3xf16>, tensor<4x5xf16>) -> tensor<4x8xf16>
  %a = graph.add %j, %b : (tensor<4x8xf16>, tensor<1x8xf16>) -> tensor<4x8xf16>
  %m = graph.reduce %a <min> axes [1] : (tensor<4x8xf16>) -> tensor<4xf16>
  func.return %m : tensor<4xf16>
}

// -----

// CHECK-LABEL: func.func @needed
// CHECK:         graph.concat
func.func @needed(%x: tensor<4x3xf16>, %y: tensor<4x5xf16>) -> (tensor<4xf16>, tensor<8xf16>) {
  %j = graph.concat %x, %y axis 1 : (tensor<4x3xf16>, tensor<4x5xf16>) -> tensor<4x8xf16>
  %m = graph.reduce %j <max> axes [1] : (tensor<4x8xf16>) -> tensor<4xf16>
  %n = graph.reduce %j <max> axes [0] : (tensor<4x8xf16>) -> tensor<8xf16>
  func.return %m, %n : tensor<4xf16>, tensor<8xf16>
}

// -----

// A slice of both parts needs them next to each other.
// CHECK-LABEL: func.func @across
// CHECK:         graph.concat
func.func @across(%x: tensor<4x3xf16>, %y: tensor<4x5xf16>) -> tensor<4x4xf16> {
  %j = graph.concat %x, %y axis 1 : (tensor<4x3xf16>, tensor<4x5xf16>) -> tensor<4x8xf16>
  %m = graph.slice %j offsets [0, 1] strides [1, 1] : (tensor<4x8xf16>) -> tensor<4x4xf16>
  func.return %m : tensor<4x4xf16>
}

// -----

// Biases that are joined before a call keep a product with them in one piece.
// CHECK-LABEL: func.func @biases
// CHECK:         [[B:%.*]] = graph.concat %b, %c axis 0
// CHECK:         graph.add %p, [[B]] : (tensor<8x32xf32>, tensor<32xf32>) -> tensor<8x32xf32>
func.func @biases(%p: tensor<8x32xf32>, %b: tensor<16xf32> {tlf.parameter},
                  %c: tensor<16xf32> {tlf.parameter}) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %j = graph.concat %b, %c axis 0 : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %a = graph.add %p, %j : (tensor<8x32xf32>, tensor<32xf32>) -> tensor<8x32xf32>
  %x = graph.slice %a offsets [0, 0] strides [1, 1] : (tensor<8x32xf32>) -> tensor<8x16xf32>
  %y = graph.slice %a offsets [0, 16] strides [1, 1] : (tensor<8x32xf32>) -> tensor<8x16xf32>
  func.return %x, %y : tensor<8x16xf32>, tensor<8x16xf32>
}
