// RUN: tlf-opt %s -p tlf-cse | filecheck %s
// RUN: tlf-opt %s -p graph-simplify | filecheck %s --check-prefix=UNUSED

// CHECK-LABEL: func.func @f
// CHECK-SAME:    #graph.remark<passed "tlf-cse" "computed once for all users" at "%a">
// CHECK-SAME:    #graph.remark<passed "tlf-cse" "dropped, because nothing uses it" at "%unused">
// UNUSED-LABEL: func.func @f
// UNUSED-SAME:   #graph.remark<passed "graph-simplify" "dropped, because nothing uses it" at "%unused">
// UNUSED-NOT:    graph.neg
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.exp %x : tensor<4xf32>
  %b = graph.exp %x : tensor<4xf32>
  %unused = graph.neg %x : tensor<4xf32>
  %y = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
