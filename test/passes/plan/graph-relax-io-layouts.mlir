// RUN: tlf-opt %s -p "graph-relax-io-layouts" | filecheck %s
// RUN: tlf-opt %s -p "graph-relax-io-layouts{of=results}" | filecheck %s --check-prefix=RESULTS
// RUN: not tlf-opt %s -p "graph-relax-io-layouts{of=weights}" 2>&1 | filecheck %s --check-prefix=WRONG
// WRONG: expected layouts of arguments or results, got weights

// What is declared stays.
// CHECK-LABEL: func.func @f(
// CHECK-SAME:    %x: tensor<4x8xf32> {tlf.layout = array<i64: 1, 0>}
// CHECK-SAME:    %y: tensor<4x8xf32> {tlf.parameter, tlf.layout = "any"})
// CHECK-SAME:    -> (tensor<4x8xf32> {tlf.layout = "any"}, tensor<4x8xf32> {tlf.layout = "any"})
// RESULTS-LABEL: func.func @f(
// RESULTS-SAME:    %y: tensor<4x8xf32> {tlf.parameter})
// RESULTS-SAME:    -> (tensor<4x8xf32> {tlf.layout = "any"}, tensor<4x8xf32> {tlf.layout = "any"})
func.func @f(%x: tensor<4x8xf32> {tlf.layout = array<i64: 1, 0>},
             %y: tensor<4x8xf32> {tlf.parameter})
    -> (tensor<4x8xf32>, tensor<4x8xf32> {tlf.layout = "any"}) {
  func.return %x, %y : tensor<4x8xf32>, tensor<4x8xf32>
}
