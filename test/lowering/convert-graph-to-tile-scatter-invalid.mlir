// RUN: not tlf-opt %s --split-input-file --target npu -p "convert-graph-to-tile,convert-tile-to-mem" 2>&1 | filecheck %s
// RUN: not tlf-opt %s --split-input-file --target h200 -p "convert-graph-to-tile,convert-tile-to-mem" 2>&1 | filecheck %s --check-prefix=VALUE

// What moves cannot do at indices is left alone.
// CHECK: error: graph.scatter: expected an operation on tiles: run `graph-decompose`, `graph-group` and
func.func @max(%x: tensor<8xf32>, %n: tensor<4xi64>, %u: tensor<4xf32>) -> tensor<8xf32> {
  %y = graph.scatter %x, %n, %u axis 0 <max> : (tensor<8xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

// CHECK: error: graph.scatter: expected an operation on tiles: run `graph-decompose`, `graph-group` and
func.func @half(%x: tensor<8xf16>, %n: tensor<4xi64>, %u: tensor<4xf16>) -> tensor<8xf16> {
  %y = graph.scatter %x, %n, %u axis 0 <add> : (tensor<8xf16>, tensor<4xi64>, tensor<4xf16>) -> tensor<8xf16>
  func.return %y : tensor<8xf16>
}

// -----

// VALUE: error: graph.scatter: expected an operation on tiles: run `graph-decompose`, `graph-group` and
func.func @set(%x: tensor<8xf32>, %n: tensor<4xi64>, %u: tensor<4xf32>) -> tensor<8xf32> {
  %y = graph.scatter %x, %n, %u axis 0 <set> : (tensor<8xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}
