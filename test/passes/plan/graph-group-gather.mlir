// RUN: tlf-opt %s --target h200 -p graph-group | filecheck %s
// RUN: tlf-opt %s --target npu -p "graph-group{level=L2}" | filecheck %s
// RUN: not tlf-opt %s --target npu -p "graph-group{level=L1},graph-select-tile-sizes{level=L1}" 2>&1 | filecheck %s --check-prefix=NPU

// Moves into L2 follow indices, those into L1 do not.
// NPU: error: graph.take: the target cannot load by indices: run `graph-decompose`

// What uses the elements joins, and what computes the indices; what computes the table
// does not.
// CHECK-LABEL: func.func @embed
// CHECK-NEXT:    [[T:%.*]] = graph.group
// CHECK-NEXT:      graph.neg
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group ins({{.*}} = [[T]] :
// CHECK-NEXT:      graph.abs
// CHECK-NEXT:      graph.take
// CHECK-NEXT:      graph.exp
// CHECK-NEXT:      graph.yield
func.func @embed(%t: tensor<500x64xf32>, %n: tensor<37xi64>) -> tensor<37x64xf32> {
  %0 = graph.neg %t : tensor<500x64xf32>
  %1 = graph.abs %n : tensor<37xi64>
  %2 = graph.take %0, %1 axis 0 : (tensor<500x64xf32>, tensor<37xi64>) -> tensor<37x64xf32>
  %y = graph.exp %2 : tensor<37x64xf32>
  func.return %y : tensor<37x64xf32>
}
