// RUN: tlf-opt %s --split-input-file --verify-diagnostics

func.func @type(%x: tensor<4xi32>) -> tensor<4xf32> {
  // expected-error@+1 {{expected to overwrite an operand of type tensor<4xf32>, got tensor<4xi32>}}
  %y = graph.group ins(%a = %x : tensor<4xi32>) attributes {tlf.in_place = #graph.in_place<0>} -> (tensor<4xf32>) {
    %0 = graph.cast %a : (tensor<4xi32>) -> tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

func.func @number(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expected the index of an overwritten operand below 1, got 1}}
  %y = graph.group ins(%a = %x : tensor<4xf32>) attributes {tlf.in_place = #graph.in_place<1>} -> (tensor<4xf32>) {
    %0 = graph.exp %a : tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

func.func @count(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expected an operand or none for each of 1 results, got 2}}
  %y = graph.group ins(%a = %x : tensor<4xf32>) attributes {tlf.in_place = #graph.in_place<none, 0>} -> (tensor<4xf32>) {
    %0 = graph.exp %a : tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

func.func @once(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expected every operand to be overwritten once}}
  %y = graph.group ins(%a = %x : tensor<4xf32>) attributes {tlf.in_place = #graph.in_place<0, 0>} -> (tensor<4xf32>) {
    %0 = graph.exp %a : tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
