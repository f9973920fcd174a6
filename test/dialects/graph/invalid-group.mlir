// RUN: tlf-opt %s --split-input-file --verify-diagnostics

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected arguments of the operands' types, (tensor<4x8xf32>), got (tensor<8xf32>)}}
%0 = "graph.group"(%x) ({
^bb0(%a: tensor<8xf32>):
  graph.yield %a : tensor<8xf32>
}) : (tensor<4x8xf32>) -> tensor<8xf32>

// -----

// expected-error@+1 {{expected a body that ends in graph.yield, got test.termop}}
%0 = graph.group ins() -> (tensor<8xf32>) {
  "test.termop"() : () -> ()
}

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected the body to yield (tensor<8xf32>), got (tensor<4x8xf32>)}}
%0 = graph.group ins(%a = %x : tensor<4x8xf32>) -> (tensor<8xf32>) {
  graph.yield %a : tensor<4x8xf32>
}

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{Operation using value defined out of its IsolatedFromAbove parent}}
%0 = graph.group ins() -> (tensor<4x8xf32>) {
  %1 = graph.exp %x : tensor<4x8xf32>
  graph.yield %1 : tensor<4x8xf32>
}

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected a first result of an operation that tiles, got a plan for one that does not}}
%0 = graph.group ins(%a = %x : tensor<4x8xf32>) plan #graph.plan<L1, tile [2, 8]> -> (tensor<4x8xf32>) {
  graph.yield %a : tensor<4x8xf32>
}

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected 2 tile sizes, one per parallel iterator of graph.exp, got 1}}
%0 = graph.group ins(%a = %x : tensor<4x8xf32>) plan #graph.plan<L1, tile [2]> -> (tensor<4x8xf32>) {
  %1 = graph.exp %a : tensor<4x8xf32>
  graph.yield %1 : tensor<4x8xf32>
}

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected no reduce sizes for a body without reductions, got 1}}
%0 = graph.group ins(%a = %x : tensor<4x8xf32>) plan #graph.plan<L1, tile [2, 2], reduce [2]> -> (tensor<4x8xf32>) {
  %1 = graph.exp %a : tensor<4x8xf32>
  graph.yield %1 : tensor<4x8xf32>
}

// -----

%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{expected 1 reduce sizes, one per reduction iterator of graph.reduce, got 2}}
%0 = graph.group ins(%a = %x : tensor<4x8xf32>) plan #graph.plan<L1, tile [2], reduce [2, 2]> -> (tensor<4xf32>) {
  %1 = graph.reduce %a <sum> axes [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  graph.yield %1 : tensor<4xf32>
}
