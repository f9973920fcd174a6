// RUN: tlf-opt %s --target h200 -p "graph-group" --split-input-file | filecheck %s

// What is scaled by the sums of columns runs with what reads it, for sums are less to hand on
// than all that is scaled; so does what alone is scaled, for it is no less.
// CHECK-LABEL: func.func @scaled
// CHECK-SAME:  "apart from its operand: what one reduction computes side by side another one reduces"
// CHECK-NEXT:  graph.group ins({{.*}} = %k : {{.*}}) -> (tensor<1x300xf32>) {
// CHECK-NEXT:    graph.exp
// CHECK-NEXT:    graph.reduce {{.*}} axes [0] keepdims
// CHECK-NEXT:    graph.yield
// CHECK:       graph.group ins({{.*}} = %q, {{.*}}) -> (tensor<4000xf32>) {
// CHECK-NEXT:    graph.relu
// CHECK-NEXT:    graph.mul
// CHECK-NEXT:    graph.reduce {{.*}} axes [1]
// CHECK-NEXT:    graph.yield
func.func @scaled(%q: tensor<4000x300xf32>, %k: tensor<4000x300xf32>) -> tensor<4000xf32> {
  %0 = graph.relu %q : tensor<4000x300xf32>
  %1 = graph.exp %k : tensor<4000x300xf32>
  %2 = graph.reduce %1 <sum> axes [0] keepdims : (tensor<4000x300xf32>) -> tensor<1x300xf32>
  %3 = graph.mul %0, %2 : (tensor<4000x300xf32>, tensor<1x300xf32>) -> tensor<4000x300xf32>
  %4 = graph.reduce %3 <sum> axes [1] : (tensor<4000x300xf32>) -> tensor<4000xf32>
  func.return %4 : tensor<4000xf32>
}

// -----

// A contraction would compute it again for each of its tiles: it reads what is scaled.
// CHECK-LABEL: func.func @multiplied
// CHECK:       graph.group ins
// CHECK:         graph.reduce
// CHECK:         graph.mul
// CHECK-NEXT:    graph.yield
// CHECK:       graph.group ins
// CHECK-NEXT:    graph.matmul
func.func @multiplied(%q: tensor<4000x300xf32>, %w: tensor<300x50xf32>) -> tensor<4000x50xf32> {
  %0 = graph.reduce %q <sum> axes [0] keepdims : (tensor<4000x300xf32>) -> tensor<1x300xf32>
  %1 = graph.mul %q, %0 : (tensor<4000x300xf32>, tensor<1x300xf32>) -> tensor<4000x300xf32>
  %2 = graph.matmul %1, %w : (tensor<4000x300xf32>, tensor<300x50xf32>) -> tensor<4000x50xf32>
  func.return %2 : tensor<4000x50xf32>
}
