// RUN: tlf-opt %s -p canonicalize | filecheck %s

// A scan of reversed elements, reversed again, runs from the last element to the first.
// CHECK-LABEL: func.func @reversed
// CHECK-NEXT:    graph.cumulate %x <prod> axis 1 reverse : (tensor<4x8xf32>) -> tensor<4x8xf32>
func.func @reversed(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.unfold %x map affine_map<(i, j) -> (i, j * -1 + 7)> fill 0.0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.cumulate %0 <prod> axis 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = graph.unfold %1 map affine_map<(i, j) -> (i, j * -1 + 7)> fill 0.0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}

// Not of another axis.
// CHECK-LABEL: func.func @other_axis
// CHECK:         graph.unfold
// CHECK-NEXT:    graph.cumulate {{.*}} axis 0 :
// CHECK-NEXT:    graph.unfold
func.func @other_axis(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = graph.unfold %x map affine_map<(i, j) -> (i, j * -1 + 7)> fill 0.0 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = graph.cumulate %0 <sum> axis 0 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = graph.unfold %1 map affine_map<(i, j) -> (i, j * -1 + 7)> fill 0.0 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %2 : tensor<8x8xf32>
}

// An exclusive scan: neutral elements before the result are scanned, too.
// CHECK-LABEL: func.func @exclusive
// CHECK:         [[Z:%.*]] = graph.broadcast
// CHECK-NEXT:    [[C:%.*]] = graph.concat [[Z]], %x axis 1
// CHECK-NEXT:    graph.cumulate [[C]] <sum> axis 1 : (tensor<4x9xf32>) -> tensor<4x9xf32>
func.func @exclusive(%x: tensor<4x8xf32>) -> tensor<4x9xf32> {
  %0 = graph.constant dense<0.0> : tensor<f32>
  %1 = graph.broadcast %0 : (tensor<f32>) -> tensor<4x1xf32>
  %2 = graph.cumulate %x <sum> axis 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.concat %1, %2 axis 1 : (tensor<4x1xf32>, tensor<4x8xf32>) -> tensor<4x9xf32>
  func.return %3 : tensor<4x9xf32>
}

// CHECK-LABEL: func.func @exclusive_reversed
// CHECK:         graph.concat %x, {{.*}} axis 1
// CHECK-NEXT:    graph.cumulate {{.*}} <prod> axis 1 reverse
func.func @exclusive_reversed(%x: tensor<4x8xf32>) -> tensor<4x9xf32> {
  %1 = graph.constant dense<1.0> : tensor<4x1xf32>
  %2 = graph.cumulate %x <prod> axis 1 reverse : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.concat %2, %1 axis 1 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x9xf32>
  func.return %3 : tensor<4x9xf32>
}

// Other numbers, or neutral elements behind the result, are not.
// CHECK-LABEL: func.func @others
// CHECK:         graph.cumulate %x <sum> axis 1 : (tensor<4x8xf32>)
// CHECK-NEXT:    graph.concat
// CHECK:         graph.cumulate %x <max> axis 1 : (tensor<4x8xf32>)
// CHECK-NEXT:    graph.concat
func.func @others(%x: tensor<4x8xf32>) -> (tensor<4x9xf32>, tensor<4x9xf32>) {
  %0 = graph.constant dense<0.0> : tensor<4x1xf32>
  %1 = graph.cumulate %x <sum> axis 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = graph.concat %1, %0 axis 1 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x9xf32>
  %3 = graph.cumulate %x <max> axis 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = graph.concat %0, %3 axis 1 : (tensor<4x1xf32>, tensor<4x8xf32>) -> tensor<4x9xf32>
  func.return %2, %4 : tensor<4x9xf32>, tensor<4x9xf32>
}
