// RUN: tlf-opt %s --target h200 -p convert-graph-to-tile --verify-diagnostics
// RUN: not tlf-opt %s --target npu -p convert-graph-to-tile 2>&1 | filecheck %s

// CHECK: graph.im2col: the target cannot load windows as rows: run `graph-decompose`
func.func @images(%x: tensor<9xf32>) -> tensor<21xf32> {
  // expected-error@+1 {{graph.im2col: its operand must come from memory, not from the group}}
  %y = graph.group ins(%a = %x : tensor<9xf32>) plan #graph.plan<L1, tile [8]> -> (tensor<21xf32>) {
    %0 = graph.neg %a : tensor<9xf32>
    %1 = graph.im2col %0 map affine_map<(h, r) -> (h + r)> basis [[7, 3]] fill 0.0 : (tensor<9xf32>) -> tensor<21xf32>
    graph.yield %1 : tensor<21xf32>
  }
  func.return %y : tensor<21xf32>
}
