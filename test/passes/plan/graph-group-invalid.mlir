// RUN: not tlf-opt %s -p graph-group 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not tlf-opt %s --target npu-tiny -p "graph-group{level=L4}" 2>&1 | filecheck %s --check-prefix=LEVEL
// RUN: not tlf-opt %s --target npu-tiny -p "graph-group{level=L3}" 2>&1 | filecheck %s --check-prefix=OUTER
// RUN: not tlf-opt %s --target h200 -p "graph-group{level=L2}" 2>&1 | filecheck %s --check-prefix=CACHE

// TARGET: error: expected a module with a target description, got none: pass `--target`
// LEVEL: error: expected one of the levels L2, L1, got L4
// OUTER: error: expected one of the levels L2, L1, got L3
// CACHE: error: expected one of the levels L1, got L2
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = graph.exp %x : tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
