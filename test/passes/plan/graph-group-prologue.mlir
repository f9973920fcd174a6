// RUN: tlf-opt %s --target npu-tiny -p graph-group --split-input-file | filecheck %s

// An operand is computed in the loops of a contraction where that moves fewer bytes.
// CHECK-LABEL: func.func @dequantized
// CHECK-SAME:    #graph.remark<passed "graph-group" "run together: cast, mul, relu, matmul" at "{{[0-9]+:[0-9]+}}">
// CHECK-NEXT:    graph.group ins([[W:%.*]] = %w, [[S:%.*]] = %s, [[X:%.*]] = %x : {{.*}}) -> (tensor<40x20xf32>) {
// CHECK-NEXT:      [[A:%.*]] = graph.cast [[W]]
// CHECK-NEXT:      [[B:%.*]] = graph.mul [[A]], [[S]]
// CHECK-NEXT:      [[C:%.*]] = graph.relu [[X]]
// CHECK-NEXT:      graph.matmul [[C]], [[B]]
// CHECK-NEXT:      graph.yield
func.func @dequantized(%x: tensor<40x30xf32>, %w: tensor<30x20xi8>, %s: tensor<20xf32>) -> tensor<40x20xf32> {
  %0 = graph.cast %w : (tensor<30x20xi8>) -> tensor<30x20xf32>
  %1 = graph.mul %0, %s : (tensor<30x20xf32>, tensor<20xf32>) -> tensor<30x20xf32>
  %2 = graph.relu %x : tensor<40x30xf32>
  %3 = graph.matmul %2, %1 : (tensor<40x30xf32>, tensor<30x20xf32>) -> tensor<40x20xf32>
  func.return %3 : tensor<40x20xf32>
}

// -----

// It is not where the tiles of many columns would each compute it again,
// CHECK-LABEL: func.func @columns
// CHECK-SAME:    #graph.remark<missed "graph-group" "not fused with its operand: recomputing an operand of a contraction for every tile is not profitable" at "{{[0-9]+:[0-9]+}}">
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      graph.relu
// CHECK-NEXT:      graph.yield
func.func @columns(%x: tensor<64x64xf32>, %w: tensor<64x9000xf32>) -> tensor<64x9000xf32> {
  %0 = graph.relu %x : tensor<64x64xf32>
  %1 = graph.matmul %0, %w : (tensor<64x64xf32>, tensor<64x9000xf32>) -> tensor<64x9000xf32>
  func.return %1 : tensor<64x9000xf32>
}

// -----

// unless that reads fewer bytes every time.
// CHECK-LABEL: func.func @narrow
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      graph.cast
// CHECK-NEXT:      graph.matmul
func.func @narrow(%x: tensor<64x64xi8>, %w: tensor<64x9000xf32>) -> tensor<64x9000xf32> {
  %0 = graph.cast %x : (tensor<64x64xi8>) -> tensor<64x64xf32>
  %1 = graph.matmul %0, %w : (tensor<64x64xf32>, tensor<64x9000xf32>) -> tensor<64x9000xf32>
  func.return %1 : tensor<64x9000xf32>
}

// -----

// It is computed once where others need it, or the group itself does.
// CHECK-LABEL: func.func @needed
// CHECK-SAME:    "not fused with its operand: the producers of a contraction's operand have other users" at "%product", "%sum", "%again"
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      graph.relu
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group
// CHECK-NEXT:      graph.matmul
// CHECK-NEXT:      graph.add
func.func @needed(%x: tensor<30x30xf32>, %w: tensor<30x30xf32>) -> (tensor<30x30xf32>, tensor<30x30xf32>) {
  %0 = graph.relu %x : tensor<30x30xf32>
  %product = graph.matmul %0, %w : (tensor<30x30xf32>, tensor<30x30xf32>) -> tensor<30x30xf32>
  %sum = graph.add %product, %0 : (tensor<30x30xf32>, tensor<30x30xf32>) -> tensor<30x30xf32>
  %1 = graph.exp %w : tensor<30x30xf32>
  %again = graph.matmul %w, %1 : (tensor<30x30xf32>, tensor<30x30xf32>) -> tensor<30x30xf32>
  %2 = graph.mul %again, %1 : (tensor<30x30xf32>, tensor<30x30xf32>) -> tensor<30x30xf32>
  func.return %sum, %2 : tensor<30x30xf32>, tensor<30x30xf32>
}

// -----

// Data that has to be moved first comes from memory.
// CHECK-LABEL: func.func @moved
// CHECK-SAME:    "not fused with its operand: an operand of a contraction is moved or reduced, not computed elementwise"
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      graph.transpose
// CHECK-NEXT:      graph.yield
func.func @moved(%x: tensor<2x30x5xf32>, %w: tensor<2x30x20xf32>) -> tensor<2x5x20xf32> {
  %0 = graph.transpose %x permutation [0, 2, 1] : (tensor<2x30x5xf32>) -> tensor<2x5x30xf32>
  %1 = graph.matmul %0, %w : (tensor<2x5x30xf32>, tensor<2x30x20xf32>) -> tensor<2x5x20xf32>
  func.return %1 : tensor<2x5x20xf32>
}
