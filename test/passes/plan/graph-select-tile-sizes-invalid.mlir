// RUN: not tlf-opt %s --split-input-file --target npu-tiny -p "graph-select-tile-sizes{level=L1}" 2>&1 | filecheck %s
// RUN: not tlf-opt %s --split-input-file -p graph-select-tile-sizes 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not tlf-opt %s --split-input-file --target npu -p "graph-select-tile-sizes{level=L7}" 2>&1 | filecheck %s --check-prefix=LEVEL

// TARGET: error: expected a module with a target description, got none: pass `--target`
// LEVEL: error: expected one of the levels L2, L1, got L7

// One row and what is made of it is more than the memory holds.
// CHECK: error: graph.sub: its smallest tiles need 20224 bytes, and L1 has 8192
func.func @long_rows(%x: tensor<4x2500xf32>) -> tensor<4x2500xf32> {
  %y = graph.group ins(%a = %x : tensor<4x2500xf32>) -> (tensor<4x2500xf32>) {
    %0 = graph.reduce %a <max> axes [1] keepdims : (tensor<4x2500xf32>) -> tensor<4x1xf32>
    %1 = graph.sub %a, %0 : (tensor<4x2500xf32>, tensor<4x1xf32>) -> tensor<4x2500xf32>
    graph.yield %1 : tensor<4x2500xf32>
  }
  func.return %y : tensor<4x2500xf32>
}

// -----

// CHECK: error: test.op: expected an operation that can be tiled
func.func @opaque(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.group ins(%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %0 = "test.op"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// CHECK: error: graph.group: expected a group that computes something
func.func @empty(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.group ins(%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    graph.yield %a : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// CHECK: error: graph.exp: expected a result of the group
func.func @handed_on(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.group ins(%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %0 = graph.exp %a : tensor<4xf32>
    graph.yield %a : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// CHECK: error: graph.transpose: expected a further result with axes of the first one in their order
func.func @other_shape(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<8x4xf32>) {
  %y, %z = graph.group ins(%a = %x : tensor<4x8xf32>) -> (tensor<4xf32>, tensor<8x4xf32>) {
    %0 = graph.reduce %a <sum> axes [1] : (tensor<4x8xf32>) -> tensor<4xf32>
    %1 = graph.transpose %a permutation [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
    graph.yield %0, %1 : tensor<4xf32>, tensor<8x4xf32>
  }
  func.return %y, %z : tensor<4xf32>, tensor<8x4xf32>
}
