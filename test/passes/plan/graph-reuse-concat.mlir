// RUN: tlf-opt %s -p graph-reuse-concat | filecheck %s

// CHECK-LABEL: func.func @block
// CHECK-SAME:    #graph.remark<passed "graph-reuse-concat" "2 operands are already concatenated" at "%d">
// CHECK-SAME:    #graph.remark<passed "graph-reuse-concat" "3 operands are already concatenated" at "%e">
// CHECK:         %d = graph.concat %c, %z axis 0 : (tensor<3xf16>, tensor<4xf16>) -> tensor<7xf16>
// CHECK-NEXT:    %e = graph.concat %x, %d axis 0 : (tensor<1xf16>, tensor<7xf16>) -> tensor<8xf16>
func.func @block(%x: tensor<1xf16>, %y: tensor<2xf16>, %z: tensor<4xf16>)
    -> (tensor<3xf16>, tensor<7xf16>, tensor<8xf16>) {
  %c = graph.concat %x, %y axis 0 : (tensor<1xf16>, tensor<2xf16>) -> tensor<3xf16>
  %d = graph.concat %x, %y, %z axis 0
      : (tensor<1xf16>, tensor<2xf16>, tensor<4xf16>) -> tensor<7xf16>
  %e = graph.concat %x, %x, %y, %z axis 0
      : (tensor<1xf16>, tensor<1xf16>, tensor<2xf16>, tensor<4xf16>) -> tensor<8xf16>
  func.return %c, %d, %e : tensor<3xf16>, tensor<7xf16>, tensor<8xf16>
}

// Along another axis, in another order, and where all is joined already, nothing is shared.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     graph-reuse-concat
// CHECK:         graph.concat %x, %x axis 0
// CHECK-NEXT:    graph.concat %x, %x, %y axis 1
// CHECK-NEXT:    graph.concat %y, %x axis 1
func.func @others(%x: tensor<2x2xf16>, %y: tensor<2x2xf16>)
    -> (tensor<4x2xf16>, tensor<2x6xf16>, tensor<2x4xf16>) {
  %c = graph.concat %x, %x axis 0 : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<4x2xf16>
  %d = graph.concat %x, %x, %y axis 1
      : (tensor<2x2xf16>, tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x6xf16>
  %e = graph.concat %y, %x axis 1 : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x4xf16>
  func.return %c, %d, %e : tensor<4x2xf16>, tensor<2x6xf16>, tensor<2x4xf16>
}
