// RUN: tlf-opt %s --target h200 -p "graph-group" --split-input-file | filecheck %s

// What is scaled by the sums of columns runs with what reads it, for sums are less to hand on
// than all that is scaled; so does what alone is scaled, for it is no less.
// CHECK-LABEL: func.func @scaled
// CHECK-SAME:  "not fused with its operand: a reduction runs along a parallel axis of another one"
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

// -----

// A condition on what others read, too, runs with them, and what it is on stays where it is made.
// CHECK-LABEL: func.func @condition
// CHECK:       graph.group ins({{.*}}) -> (tensor<96x1000xf16>) {
// CHECK-NEXT:    graph.matmul
// CHECK-NEXT:    graph.cast
// CHECK-NEXT:    graph.yield
// CHECK:       graph.group ins
// CHECK:         graph.compare {{.*}} <ne>
func.func @condition(%x: tensor<96x64xf16>, %w: tensor<64x1000xf16>, %p: tensor<1000xi32>) -> tensor<96xi32> {
  %z = graph.constant dense<0> : tensor<i32>
  %0 = graph.matmul %x, %w : (tensor<96x64xf16>, tensor<64x1000xf16>) -> tensor<96x1000xf32>
  %1 = graph.cast %0 : (tensor<96x1000xf32>) -> tensor<96x1000xf16>
  %2 = graph.reduce %1 <max> axes [1] keepdims : (tensor<96x1000xf16>) -> tensor<96x1xf16>
  %3 = graph.compare %1, %2 <eq> : (tensor<96x1000xf16>, tensor<96x1xf16>) -> tensor<96x1000xi1>
  %4 = graph.compare %1, %1 <ne> : (tensor<96x1000xf16>, tensor<96x1000xf16>) -> tensor<96x1000xi1>
  %5 = graph.or %3, %4 : (tensor<96x1000xi1>, tensor<96x1000xi1>) -> tensor<96x1000xi1>
  %6 = graph.select %5, %p, %z : (tensor<96x1000xi1>, tensor<1000xi32>, tensor<i32>) -> tensor<96x1000xi32>
  %7 = graph.reduce %6 <max> axes [1] : (tensor<96x1000xi32>) -> tensor<96xi32>
  func.return %7 : tensor<96xi32>
}
