// RUN: tlf-opt %s --target h200 -p graph-group | filecheck %s

// What stands in the way of one loop: distances from a mean, which is known at the end.
// CHECK-LABEL: func.func @distances
// CHECK-SAME:    #graph.remark<missed "graph-group" "no loop with other reductions: it needs the result of a sum, which is arbitrary until the sum is complete" about "loops" at "%v">
func.func @distances(%x: tensor<8192x256xf32>, %w: tensor<256x50000xf32>) -> tensor<8192x1xf32> {
  %c = graph.constant dense<2.0e-05> : tensor<f32>
  %y = graph.matmul %x, %w : (tensor<8192x256xf32>, tensor<256x50000xf32>) -> tensor<8192x50000xf32>
  %s = graph.reduce %y <sum> axes [1] keepdims : (tensor<8192x50000xf32>) -> tensor<8192x1xf32>
  %m = graph.mul %s, %c : (tensor<8192x1xf32>, tensor<f32>) -> tensor<8192x1xf32>
  %d = graph.sub %y, %m : (tensor<8192x50000xf32>, tensor<8192x1xf32>) -> tensor<8192x50000xf32>
  %q = graph.mul %d, %d : (tensor<8192x50000xf32>, tensor<8192x50000xf32>) -> tensor<8192x50000xf32>
  %v = graph.reduce %q <sum> axes [1] keepdims : (tensor<8192x50000xf32>) -> tensor<8192x1xf32>
  func.return %v : tensor<8192x1xf32>
}

// Squares of distances from a maximum change by no factor when it does.
// CHECK-LABEL: func.func @factors
// CHECK-SAME:    #graph.remark<missed "graph-group" "no loop with other reductions: no factor corrects its running sum when the results that it depends on change" about "loops" at "%v">
func.func @factors(%x: tensor<8192x256xf32>, %w: tensor<256x50000xf32>) -> tensor<8192x1xf32> {
  %y = graph.matmul %x, %w : (tensor<8192x256xf32>, tensor<256x50000xf32>) -> tensor<8192x50000xf32>
  %m = graph.reduce %y <max> axes [1] keepdims : (tensor<8192x50000xf32>) -> tensor<8192x1xf32>
  %d = graph.sub %y, %m : (tensor<8192x50000xf32>, tensor<8192x1xf32>) -> tensor<8192x50000xf32>
  %q = graph.mul %d, %d : (tensor<8192x50000xf32>, tensor<8192x50000xf32>) -> tensor<8192x50000xf32>
  %v = graph.reduce %q <sum> axes [1] keepdims : (tensor<8192x50000xf32>) -> tensor<8192x1xf32>
  func.return %v : tensor<8192x1xf32>
}

// What others compute with is kept within finite numbers: that is no number to compare with.
// CHECK-LABEL: func.func @compared
// CHECK-SAME:    #graph.remark<missed "graph-group" "no loop with other reductions: it compares with an extreme that others compute with" about "loops" at "%n">
func.func @compared(%x: tensor<8192x256xf32>, %w: tensor<256x50000xf32>) -> (tensor<8192x1xf32>, tensor<8192xf32>) {
  %z = graph.constant dense<0.0> : tensor<f32>
  %o = graph.constant dense<1.0> : tensor<f32>
  %y = graph.matmul %x, %w : (tensor<8192x256xf32>, tensor<256x50000xf32>) -> tensor<8192x50000xf32>
  %m = graph.reduce %y <max> axes [1] keepdims : (tensor<8192x50000xf32>) -> tensor<8192x1xf32>
  %d = graph.sub %y, %m : (tensor<8192x50000xf32>, tensor<8192x1xf32>) -> tensor<8192x50000xf32>
  %e = graph.exp %d : tensor<8192x50000xf32>
  %l = graph.reduce %e <sum> axes [1] keepdims : (tensor<8192x50000xf32>) -> tensor<8192x1xf32>
  %h = graph.compare %y, %m <eq> : (tensor<8192x50000xf32>, tensor<8192x1xf32>) -> tensor<8192x50000xi1>
  %u = graph.select %h, %o, %z : (tensor<8192x50000xi1>, tensor<f32>, tensor<f32>) -> tensor<8192x50000xf32>
  %n = graph.reduce %u <sum> axes [1] : (tensor<8192x50000xf32>) -> tensor<8192xf32>
  func.return %l, %n : tensor<8192x1xf32>, tensor<8192xf32>
}

// Where one loop would take longer, both times are told.
// CHECK-LABEL: func.func @longer
// CHECK-SAME:    <missed "graph-group" "one loop with the producers of its operands: {{[0-9,]+}} cycles by the model, separately {{[0-9,]+}}" at "%y">
func.func @longer(%x: tensor<8192x256xbf16>, %w: tensor<256x2048xbf16>) -> tensor<8192x2048xf32> {
  %f = graph.cast %x : (tensor<8192x256xbf16>) -> tensor<8192x256xf32>
  %q = graph.mul %f, %f : (tensor<8192x256xf32>, tensor<8192x256xf32>) -> tensor<8192x256xf32>
  %s = graph.reduce %q <sum> axes [1] keepdims : (tensor<8192x256xf32>) -> tensor<8192x1xf32>
  %p = graph.matmul %x, %w : (tensor<8192x256xbf16>, tensor<256x2048xbf16>) -> tensor<8192x2048xf32>
  %y = graph.div %p, %s : (tensor<8192x2048xf32>, tensor<8192x1xf32>) -> tensor<8192x2048xf32>
  func.return %y : tensor<8192x2048xf32>
}

// Rows that a reshape shifts against each other, as for relative positions.
// CHECK-LABEL: func.func @shifted
// CHECK-SAME:    #graph.remark<missed "graph-group" "not fused with its operand: tiles do not map to tiles through the reshape" at "%t">
func.func @shifted(%x: tensor<64x32xf32>, %w: tensor<32x64xf32>, %s: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = graph.matmul %x, %w : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %p = graph.pad %y low [0, 1] high [0, 0] fill 0.0 : (tensor<64x64xf32>) -> tensor<64x65xf32>
  %r = graph.reshape %p : (tensor<64x65xf32>) -> tensor<65x64xf32>
  %t = graph.slice %r offsets [1, 0] strides [1, 1] : (tensor<65x64xf32>) -> tensor<64x64xf32>
  %z = graph.add %t, %s : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %z : tensor<64x64xf32>
}

// A reduction along the columns of a product may take all of them at once, if they fit.
// CHECK-LABEL: func.func @wide
// CHECK-SAME:    <missed "graph-group" "one loop with the producers of its operands: the smallest tiles of both need {{[0-9,]+}} bytes, and L1 has 232,448" at "%s">
func.func @wide(%x: tensor<512x64xf32>, %w: tensor<64x50000xf32>) -> tensor<512x50000xf32> {
  %y = graph.matmul %x, %w : (tensor<512x64xf32>, tensor<64x50000xf32>) -> tensor<512x50000xf32>
  %s = graph.reduce %y <max> axes [1] keepdims : (tensor<512x50000xf32>) -> tensor<512x1xf32>
  %z = graph.sub %y, %s : (tensor<512x50000xf32>, tensor<512x1xf32>) -> tensor<512x50000xf32>
  func.return %z : tensor<512x50000xf32>
}
