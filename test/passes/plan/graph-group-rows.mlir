// RUN: tlf-opt %s --target npu-tiny -p "graph-decompose,canonicalize,graph-group{level=L1}" | filecheck %s

// All of a softmax runs row by row.
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT:    graph.constant
// CHECK-NEXT:    graph.group ins([[X:%.*]] = %x : tensor<40x30xf32>) -> (tensor<40x30xf32>) {
// CHECK-NEXT:      [[ONE:%.*]] = graph.constant
// CHECK-NEXT:      [[M:%.*]] = graph.reduce [[X]] <max>
// CHECK-NEXT:      [[S:%.*]] = graph.sub [[X]], [[M]]
// CHECK-NEXT:      [[E:%.*]] = graph.exp [[S]]
// CHECK-NEXT:      [[T:%.*]] = graph.reduce [[E]] <sum>
// CHECK-NEXT:      [[R:%.*]] = graph.div [[ONE]], [[T]]
// CHECK-NEXT:      [[Y:%.*]] = graph.mul [[E]], [[R]]
// CHECK-NEXT:      graph.yield [[Y]]
// CHECK-NOT:     graph.group
func.func @softmax(%x: tensor<40x30xf32>) -> tensor<40x30xf32> {
  %y = graph.softmax %x axis 1 : (tensor<40x30xf32>) -> tensor<40x30xf32>
  func.return %y : tensor<40x30xf32>
}

// So does a layer normalisation, with the neighbours of its reductions.
// CHECK-LABEL: func.func @layer_norm
// CHECK:         graph.group ins([[X:%.*]] = %x, [[W:%.*]] = %w : {{.*}}) -> (tensor<40x30xf32>) {
// CHECK:           [[R:%.*]] = graph.relu [[X]]
// CHECK:           graph.reduce [[R]] <sum>
// CHECK:           graph.reduce {{.*}} <sum>
// CHECK:           graph.rsqrt
// CHECK:           [[Z:%.*]] = graph.mul {{.*}}, [[W]]
// CHECK-NEXT:      [[Y:%.*]] = graph.tanh [[Z]]
// CHECK-NEXT:      graph.yield [[Y]]
// CHECK-NOT:     graph.group
func.func @layer_norm(%x: tensor<40x30xf32>, %w: tensor<30xf32>) -> tensor<40x30xf32> {
  %0 = graph.relu %x : tensor<40x30xf32>
  %1 = graph.layer_norm %0 weight %w epsilon 1.0e-05 : (tensor<40x30xf32>, tensor<30xf32>) -> tensor<40x30xf32>
  %y = graph.tanh %1 : tensor<40x30xf32>
  func.return %y : tensor<40x30xf32>
}

// A row that does not fit with all that is made of it is computed in parts.
// CHECK-LABEL: func.func @long_rows
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      graph.reduce {{.*}} <max>
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group
// CHECK-NEXT:      graph.sub
// CHECK-NEXT:      graph.exp
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group
// CHECK-NEXT:      graph.constant
// CHECK-NEXT:      graph.reduce {{.*}} <sum>
// CHECK-NEXT:      graph.div
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group
// CHECK-NEXT:      graph.mul
func.func @long_rows(%x: tensor<4x1500xf32>) -> tensor<4x1500xf32> {
  %y = graph.softmax %x axis 1 : (tensor<4x1500xf32>) -> tensor<4x1500xf32>
  func.return %y : tensor<4x1500xf32>
}

// What one reduction computes side by side, another one would need one by one. Their sums
// are handed on, rather than all differences.
// CHECK-LABEL: func.func @crossed
// CHECK-SAME:    "not fused with its operand: a reduction runs along a parallel axis of another one"
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      graph.reduce {{.*}} <sum> axes [1]
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group
// CHECK-NEXT:      graph.sub
// CHECK-NEXT:      graph.reduce {{.*}} <max> axes [0]
// CHECK-NEXT:      graph.yield
func.func @crossed(%x: tensor<200x100xf32>) -> tensor<1x100xf32> {
  %0 = graph.reduce %x <sum> axes [1] keepdims : (tensor<200x100xf32>) -> tensor<200x1xf32>
  %1 = graph.sub %x, %0 : (tensor<200x100xf32>, tensor<200x1xf32>) -> tensor<200x100xf32>
  %2 = graph.reduce %1 <max> axes [0] keepdims : (tensor<200x100xf32>) -> tensor<1x100xf32>
  func.return %2 : tensor<1x100xf32>
}

// A reduction joins a contraction where that takes less time.
// CHECK-LABEL: func.func @matmul
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      graph.matmul
// CHECK-NEXT:      graph.reduce
// CHECK-NEXT:      graph.yield
func.func @matmul(%x: tensor<20x30xf32>, %w: tensor<30x20xf32>) -> tensor<20xf32> {
  %0 = graph.matmul %x, %w : (tensor<20x30xf32>, tensor<30x20xf32>) -> tensor<20x20xf32>
  %1 = graph.reduce %0 <sum> axes [1] : (tensor<20x20xf32>) -> tensor<20xf32>
  func.return %1 : tensor<20xf32>
}
