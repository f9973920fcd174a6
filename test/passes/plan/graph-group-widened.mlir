// RUN: tlf-opt %s --target h200 -p graph-group | filecheck %s
// RUN: tlf-run %s --entry norm --target h200 --check | filecheck %s --check-prefix=RUNS
// RUNS: ok

// The product stores 16 bits, from which one kernel normalizes rows.
// CHECK-LABEL: func.func @norm
// CHECK:         graph.group {{.*}} -> (tensor<2x40000xbf16>) {
// CHECK:           graph.matmul
// CHECK:         graph.group {{.*}} -> (tensor<2x40000xbf16>) {
// CHECK-COUNT-2:   graph.cast {{.*}} : (tensor<2x40000xbf16>) -> tensor<2x40000xf32>
// CHECK:           graph.reduce
// CHECK:           graph.sub
// CHECK:           graph.reduce
// CHECK:           graph.div
// CHECK-NOT:     graph.group
func.func @norm(%x: tensor<2x32xbf16>, %w: tensor<32x40000xbf16>) -> tensor<2x40000xbf16> {
  %0 = graph.matmul %x, %w : (tensor<2x32xbf16>, tensor<32x40000xbf16>) -> tensor<2x40000xf32>
  %1 = graph.cast %0 : (tensor<2x40000xf32>) -> tensor<2x40000xbf16>
  %2 = graph.cast %1 : (tensor<2x40000xbf16>) -> tensor<2x40000xf32>
  %3 = graph.reduce %2 <sum> axes [1] keepdims : (tensor<2x40000xf32>) -> tensor<2x1xf32>
  %4 = graph.sub %2, %3 : (tensor<2x40000xf32>, tensor<2x1xf32>) -> tensor<2x40000xf32>
  %5 = graph.abs %4 : tensor<2x40000xf32>
  %6 = graph.reduce %5 <max> axes [1] keepdims : (tensor<2x40000xf32>) -> tensor<2x1xf32>
  %7 = graph.div %4, %6 : (tensor<2x40000xf32>, tensor<2x1xf32>) -> tensor<2x40000xf32>
  %8 = graph.cast %7 : (tensor<2x40000xf32>) -> tensor<2x40000xbf16>
  func.return %8 : tensor<2x40000xbf16>
}

// What is returned, too, is stored once.
// CHECK-LABEL: func.func @returned
// CHECK:         graph.group {{.*}} -> (tensor<2x40000xf32>) {
// CHECK:           graph.matmul
// CHECK-NEXT:      graph.cast
// CHECK-NEXT:      graph.cast
func.func @returned(%x: tensor<2x32xbf16>, %w: tensor<32x40000xbf16>)
    -> (tensor<2x40000xf32>, tensor<2x1xf32>) {
  %0 = graph.matmul %x, %w : (tensor<2x32xbf16>, tensor<32x40000xbf16>) -> tensor<2x40000xf32>
  %1 = graph.cast %0 : (tensor<2x40000xf32>) -> tensor<2x40000xbf16>
  %2 = graph.cast %1 : (tensor<2x40000xbf16>) -> tensor<2x40000xf32>
  %3 = graph.reduce %2 <sum> axes [1] keepdims : (tensor<2x40000xf32>) -> tensor<2x1xf32>
  func.return %2, %3 : tensor<2x40000xf32>, tensor<2x1xf32>
}
