// RUN: tlf-opt %s --target h200 -p "graph-group{cascades=false},graph-select-tile-sizes,graph-mark-in-place" --split-input-file | filecheck %s

// A result takes the place of an operand of its type that is not needed any more.
// CHECK-LABEL: func.func @chain
// CHECK-SAME:    #graph.remark<passed "graph-mark-in-place" "a result may overwrite an operand" at "%c">
// CHECK:         %b = graph.group
// CHECK:         %c = graph.group {{.*}}attributes {tlf.in_place = #graph.in_place<0>}
// CHECK-NEXT:      graph.reduce
func.func @chain(%x: tensor<40x30xf32>, %w: tensor<30x30xf32>) -> tensor<40x30xf32> {
  %b = graph.matmul %x, %w : (tensor<40x30xf32>, tensor<30x30xf32>) -> tensor<40x30xf32>
  %m = graph.reduce %b <max> axes [1] keepdims : (tensor<40x30xf32>) -> tensor<40x1xf32>
  %c = graph.sub %b, %m : (tensor<40x30xf32>, tensor<40x1xf32>) -> tensor<40x30xf32>
  func.return %c : tensor<40x30xf32>
}

// -----

// Not one that is needed later, if only under another shape.
// CHECK-LABEL: func.func @needed
// CHECK-SAME:    #graph.remark<missed "graph-mark-in-place" "its operand is needed later" at "%c">
// CHECK-NOT:     in_place
func.func @needed(%x: tensor<40x30xf32>, %w: tensor<30x30xf32>) -> (tensor<40x30xf32>, tensor<1200xf32>) {
  %b = graph.matmul %x, %w : (tensor<40x30xf32>, tensor<30x30xf32>) -> tensor<40x30xf32>
  %v = graph.reshape %b : (tensor<40x30xf32>) -> tensor<1200xf32>
  %m = graph.reduce %b <max> axes [1] keepdims : (tensor<40x30xf32>) -> tensor<40x1xf32>
  %c = graph.sub %b, %m : (tensor<40x30xf32>, tensor<40x1xf32>) -> tensor<40x30xf32>
  func.return %c, %v : tensor<40x30xf32>, tensor<1200xf32>
}

// -----

// Nor one of which a part stays where it is, to be read later.
// CHECK-LABEL: func.func @part
// CHECK-SAME:    #graph.remark<missed "graph-mark-in-place" "its operand is needed later" at "%c">
// CHECK-NOT:     in_place
func.func @part(%x: tensor<40x30xf32>, %w: tensor<30x30xf32>) -> (tensor<40x30xf32>, tensor<8x30xf32>) {
  %b = graph.matmul %x, %w : (tensor<40x30xf32>, tensor<30x30xf32>) -> tensor<40x30xf32>
  %s = graph.slice %b offsets [32, 0] strides [1, 1] : (tensor<40x30xf32>) -> tensor<8x30xf32>
  %m = graph.reduce %b <max> axes [1] keepdims : (tensor<40x30xf32>) -> tensor<40x1xf32>
  %c = graph.sub %b, %m : (tensor<40x30xf32>, tensor<40x1xf32>) -> tensor<40x30xf32>
  func.return %c, %s : tensor<40x30xf32>, tensor<8x30xf32>
}

// -----

// Nor one that is read where others write: transposed, or as the row of a product.
// CHECK-LABEL: func.func @elsewhere
// CHECK-SAME:    #graph.remark<missed "graph-mark-in-place" "it reads elements of its operand that it does not write" at "%c", "%d">
// CHECK-NOT:     in_place
func.func @elsewhere(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %b = graph.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = graph.group ins(%a = %b : tensor<8x8xf32>) -> (tensor<8x8xf32>) {
    %t = graph.transpose %a permutation [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %s = graph.add %a, %t : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    graph.yield %s : tensor<8x8xf32>
  }
  %d = graph.matmul %c, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %d : tensor<8x8xf32>
}

// -----

// Nor one that comes to it twice, nor arguments and constants.
// CHECK-LABEL: func.func @twice
// CHECK-SAME:    "arguments, constants and slices are not overwritten" at "%a"
// CHECK-SAME:    "it uses the buffer of its operand twice" at "%c"
// CHECK-NOT:     in_place
func.func @twice(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %a = graph.exp %x : tensor<8x8xf32>
  %b = graph.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %v = graph.reshape %b : (tensor<8x8xf32>) -> tensor<64xf32>
  %u = graph.reshape %v : (tensor<64xf32>) -> tensor<8x8xf32>
  %m = graph.reduce %b <max> axes [1] keepdims : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %d = graph.sub %b, %m : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %c = graph.add %d, %u : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %a, %c : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Nor anything by what is made in its place among others, be it under another shape.
// CHECK-LABEL: func.func @joined
// CHECK-SAME:    "it is a concat operand that is computed in place" at "%c", "%d"
// CHECK-NOT:     in_place
func.func @joined(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<192xf32> {
  %b = graph.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %e = graph.matmul %w, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = graph.group ins(%a = %b : tensor<8x8xf32>) -> (tensor<8x8xf32>) {
    %s = graph.exp %a : tensor<8x8xf32>
    graph.yield %s : tensor<8x8xf32>
  }
  %d = graph.group ins(%a = %e : tensor<8x8xf32>) -> (tensor<8x8xf32>) {
    %s = graph.exp %a : tensor<8x8xf32>
    graph.yield %s : tensor<8x8xf32>
  }
  %u = graph.reshape %c : (tensor<8x8xf32>) -> tensor<64xf32>
  %v = graph.reshape %d : (tensor<8x8xf32>) -> tensor<64xf32>
  %y = graph.concat %u, %v, %u axis 0
      : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<192xf32>
  func.return %y : tensor<192xf32>
}
