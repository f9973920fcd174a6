// RUN: tlf-opt %s --target h200 -p graph-group | filecheck %s

// Reductions of the same rows run in one loop.
// CHECK-LABEL: func.func @independent
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      graph.reduce {{.*}} <max>
// CHECK-NEXT:      graph.reduce {{.*}} <sum>
// CHECK-NEXT:      graph.yield
// CHECK-NOT:     graph.group
func.func @independent(%x: tensor<512x100000xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  %0 = graph.reduce %x <max> axes [1] : (tensor<512x100000xf32>) -> tensor<512xf32>
  %1 = graph.reduce %x <sum> axes [1] : (tensor<512x100000xf32>) -> tensor<512xf32>
  func.return %0, %1 : tensor<512xf32>, tensor<512xf32>
}

// The group of %start and %total computes an operand of one of them from the other one.
// CHECK-LABEL: func.func @divided
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      %start{{.*}} = graph.reduce
// CHECK-NEXT:      %rows{{.*}} = graph.reshape
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group
// CHECK-NEXT:      %parts{{.*}} = graph.reduce
// CHECK-NEXT:      %d = graph.sub
// CHECK-NEXT:      %s = graph.mul
// CHECK-NEXT:      %z{{.*}} = graph.reduce
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group
// CHECK-NEXT:      %total = graph.reduce
// CHECK-NEXT:      %y{{.*}} = graph.sub
func.func @divided(%x: tensor<16x512x8192xf32>, %first: tensor<16x16xf32>)
    -> (tensor<16x512x1xf32>, tensor<16x1xf32>) {
  %parts = graph.reduce %x <sum> axes [2] keepdims : (tensor<16x512x8192xf32>) -> tensor<16x512x1xf32>
  %total = graph.reduce %parts <sum> axes [1] : (tensor<16x512x1xf32>) -> tensor<16x1xf32>
  %start = graph.reduce %first <sum> axes [1] keepdims : (tensor<16x16xf32>) -> tensor<16x1xf32>
  %y = graph.sub %start, %total : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
  %rows = graph.reshape %start : (tensor<16x1xf32>) -> tensor<16x1x1xf32>
  %d = graph.sub %x, %rows : (tensor<16x512x8192xf32>, tensor<16x1x1xf32>) -> tensor<16x512x8192xf32>
  %s = graph.mul %d, %d : (tensor<16x512x8192xf32>, tensor<16x512x8192xf32>) -> tensor<16x512x8192xf32>
  %z = graph.reduce %s <sum> axes [2] keepdims : (tensor<16x512x8192xf32>) -> tensor<16x512x1xf32>
  func.return %z, %y : tensor<16x512x1xf32>, tensor<16x1xf32>
}
