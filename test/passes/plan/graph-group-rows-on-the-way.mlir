// RUN: tlf-opt %s --target npu -p "graph-group{level=L1}" | filecheck %s
// RUN: tlf-run %s --target npu -p %first-plans --check | filecheck %s --check-prefix=RUNS

// What is computed of rows on the way joins what is computed of their elements, though it
// comes later and has one element for each row.
// CHECK-LABEL: func.func @rows_on_the_way
// CHECK-NEXT:    graph.group ins({{.*}}) -> (tensor<64x32xf16>) {
// CHECK-NEXT:      graph.exp
// CHECK-NEXT:      graph.mul
// CHECK-NEXT:      graph.mul
// CHECK-NEXT:      graph.sqrt
// CHECK:           graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// RUNS: ok
func.func @rows_on_the_way(%m: tensor<64x1xf32>, %l: tensor<64x1xf32>, %o: tensor<64x32xf32>)
    -> tensor<64x32xf16> {
  %0 = graph.exp %m : tensor<64x1xf32>
  %1 = graph.mul %l, %0 : tensor<64x1xf32>
  %2 = graph.mul %o, %0 : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  %3 = graph.sqrt %1 : tensor<64x1xf32>
  %4 = graph.mul %2, %3 : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  %5 = graph.cast %4 : (tensor<64x32xf32>) -> tensor<64x32xf16>
  func.return %5 : tensor<64x32xf16>
}
