// RUN: tlf-opt %s --target h200 -p convert-graph-to-tile --split-input-file --verify-diagnostics

func.func @table(%t: tensor<9x4xf32>, %n: tensor<5xi64>) -> tensor<5x4xf32> {
  // expected-error@+1 {{graph.take: its operand must come from memory, not from the group}}
  %y = graph.group ins(%a = %t, %b = %n : tensor<9x4xf32>, tensor<5xi64>) plan #graph.plan<L1, tile [8, 4]> -> (tensor<5x4xf32>) {
    %0 = graph.neg %a : tensor<9x4xf32>
    %1 = graph.take %0, %b axis 0 : (tensor<9x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
    graph.yield %1 : tensor<5x4xf32>
  }
  func.return %y : tensor<5x4xf32>
}
