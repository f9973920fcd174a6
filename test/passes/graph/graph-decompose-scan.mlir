// RUN: tlf-opt %s --target npu -p graph-decompose | filecheck %s
// RUN: tlf-opt %s --target h200 -p graph-decompose | filecheck %s --check-prefix=SCANS

// Without scans of tiles, elements are combined at doubled distances.
// CHECK-LABEL: func.func @rows
// CHECK-NOT:     graph.cumulate
// CHECK:         [[P:%.*]] = graph.unfold %x map affine_map<(d0, d1) -> (d0, (d1 + -1))> fill 0.000000e+00
// CHECK:         [[A:%.*]] = graph.add [[P]], %x
// CHECK-NEXT:    [[Q:%.*]] = graph.unfold [[A]] map affine_map<(d0, d1) -> (d0, (d1 + -2))>
// CHECK-NEXT:    [[B:%.*]] = graph.add [[Q]], [[A]]
// CHECK-NEXT:    graph.unfold [[B]] map affine_map<(d0, d1) -> (d0, (d1 + -4))>
// CHECK-NOT:     graph.compare
// SCANS-LABEL: func.func @rows
// SCANS-SAME:    "cumulate is not decomposed: the target scans tiles natively"
// SCANS-NEXT:    graph.cumulate %x <sum> axis 1 : (tensor<4x9xf32>) -> tensor<4x9xf32>
// SCANS-NEXT:    graph.cumulate %n <max> axis 0 : (tensor<4x9xbf16>) -> tensor<4x9xbf16>
func.func @rows(%x: tensor<4x9xf32>, %n: tensor<4x9xbf16>) -> (tensor<4x9xf32>, tensor<4x9xbf16>) {
  %y = graph.cumulate %x <sum> axis 1 : (tensor<4x9xf32>) -> tensor<4x9xf32>
  %z = graph.cumulate %n <max> axis 0 : (tensor<4x9xbf16>) -> tensor<4x9xbf16>
  func.return %y, %z : tensor<4x9xf32>, tensor<4x9xbf16>
}

// Sums of 16-bit floats are rounded at the end.
// SCANS-LABEL: func.func @narrow
// SCANS:         [[X:%.*]] = graph.cast %x : (tensor<4x9xbf16>) -> tensor<4x9xf32>
// SCANS-NEXT:    [[Y:%.*]] = graph.cumulate [[X]] <sum> axis 1 : (tensor<4x9xf32>) -> tensor<4x9xf32>
// SCANS-NEXT:    graph.cast [[Y]] : (tensor<4x9xf32>) -> tensor<4x9xbf16>
func.func @narrow(%x: tensor<4x9xbf16>) -> tensor<4x9xbf16> {
  %y = graph.cumulate %x <sum> axis 1 : (tensor<4x9xbf16>) -> tensor<4x9xbf16>
  func.return %y : tensor<4x9xbf16>
}
