// RUN: tlf-opt %s --target npu-tiny -p graph-group --split-input-file | filecheck %s

// What reads one tensor on one shape runs together, and reads it once; so do their
// chains.
// CHECK-LABEL: func.func @two
// CHECK-NEXT:    [[Q:%.*]], [[P:%.*]] = graph.group ins([[X:%.*]] = %x : tensor<40x30xf32>) -> (tensor<40x30xf32>, tensor<40x30xf32>) {
// CHECK-NEXT:      [[A:%.*]] = graph.exp [[X]]
// CHECK-NEXT:      [[B:%.*]] = graph.tanh [[A]]
// CHECK-NEXT:      [[C:%.*]] = graph.relu [[X]]
// CHECK-NEXT:      graph.yield [[C]], [[B]]
// CHECK:         func.return [[P]], [[Q]]
func.func @two(%x: tensor<40x30xf32>) -> (tensor<40x30xf32>, tensor<40x30xf32>) {
  %0 = graph.exp %x : tensor<40x30xf32>
  %1 = graph.tanh %0 : tensor<40x30xf32>
  %2 = graph.relu %x : tensor<40x30xf32>
  func.return %1, %2 : tensor<40x30xf32>, tensor<40x30xf32>
}

// -----

// What both would broadcast is small, and reading it again costs nothing.
// CHECK-LABEL: func.func @broadcast
// CHECK-COUNT-2: graph.group
func.func @broadcast(%x: tensor<40x30xf32>, %y: tensor<40x30xf32>, %b: tensor<30xf32>) -> (tensor<40x30xf32>, tensor<40x30xf32>) {
  %0 = graph.add %x, %b : (tensor<40x30xf32>, tensor<30xf32>) -> tensor<40x30xf32>
  %1 = graph.mul %y, %b : (tensor<40x30xf32>, tensor<30xf32>) -> tensor<40x30xf32>
  func.return %0, %1 : tensor<40x30xf32>, tensor<40x30xf32>
}

// -----

// Operations join what uses them first, and siblings only where none is left apart.
// CHECK-LABEL: func.func @users_first
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      graph.relu
// CHECK-NEXT:      graph.matmul
// CHECK-NEXT:      graph.exp
// CHECK-NEXT:      graph.add
// CHECK-NEXT:      graph.yield
// CHECK-NOT:     graph.group
func.func @users_first(%x: tensor<30x30xf32>, %w: tensor<30x30xf32>) -> tensor<30x30xf32> {
  %0 = graph.relu %x : tensor<30x30xf32>
  %1 = graph.matmul %0, %w : (tensor<30x30xf32>, tensor<30x30xf32>) -> tensor<30x30xf32>
  %2 = graph.exp %x : tensor<30x30xf32>
  %3 = graph.add %1, %2 : (tensor<30x30xf32>, tensor<30x30xf32>) -> tensor<30x30xf32>
  func.return %3 : tensor<30x30xf32>
}

// -----

// One that is computed from the other by way of a product stays apart.
// CHECK-LABEL: func.func @detour
// CHECK:         graph.group
// CHECK-NEXT:      graph.exp
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group
// CHECK-NEXT:      graph.matmul
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group
// CHECK-NEXT:      graph.reduce
// CHECK-NEXT:      graph.add
func.func @detour(%x: tensor<30x30xf32>, %w: tensor<30x30xf32>) -> (tensor<30x30xf32>, tensor<30x30xf32>) {
  %0 = graph.exp %x : tensor<30x30xf32>
  %1 = graph.matmul %0, %w : (tensor<30x30xf32>, tensor<30x30xf32>) -> tensor<30x30xf32>
  %2 = graph.reduce %1 <sum> axes [0] : (tensor<30x30xf32>) -> tensor<30xf32>
  %3 = graph.add %x, %2 : (tensor<30x30xf32>, tensor<30xf32>) -> tensor<30x30xf32>
  func.return %0, %3 : tensor<30x30xf32>, tensor<30x30xf32>
}
