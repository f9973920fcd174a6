// RUN: tlf-opt %s --target npu -p "graph-group,graph-materialize-concat-operands" | filecheck %s
// RUN: tlf-run %s --entry made --target npu-tiny -p %first-plans --check | filecheck %s --check-prefix=RUNS
// RUN: tlf-run %s --entry elsewhere --target npu-tiny -p %first-plans --check | filecheck %s --check-prefix=RUNS
// RUNS: ok

// What groups make for one operation alone is made in its place.
// CHECK-LABEL: func.func @made
// CHECK-NOT:     graph.transpose
// CHECK:         graph.concat %a, %b axis 1
func.func @made(%x: tensor<4x6xf32>, %y: tensor<4x2xf32>) -> tensor<4x8xf32> {
  %a = graph.neg %x : tensor<4x6xf32>
  %b = graph.abs %y : tensor<4x2xf32>
  %c = graph.concat %a, %b axis 1 : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>
  func.return %c : tensor<4x8xf32>
}

// Readers that split axes read the buffer of the whole.
// CHECK-LABEL: func.func @split
// CHECK-NOT:     copied
// CHECK:         graph.concat %a, %b axis 1
func.func @split(%x: tensor<6x4xf32>, %y: tensor<6x2xf32>)
    -> (tensor<6x6xf32>, tensor<2x4xf32>) {
  %a = graph.neg %x : tensor<6x4xf32>
  %b = graph.abs %y : tensor<6x2xf32>
  %v = graph.reshape %a : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %r = graph.reduce %v <max> axes [1] : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  %c = graph.concat %a, %b axis 1 : (tensor<6x4xf32>, tensor<6x2xf32>) -> tensor<6x6xf32>
  func.return %c, %r : tensor<6x6xf32>, tensor<2x4xf32>
}

// Other readers merge axes of what is split, or merged, before.
// CHECK-LABEL: func.func @merged_again
// CHECK-SAME:    "operand 0 is copied: it has views" at "%c"
// CHECK-SAME:    "operand 1 is copied: it has views" at "%c"
func.func @merged_again(%x: tensor<6x4xf32>, %y: tensor<2x3x2xf32>)
    -> (tensor<6x6xf32>, tensor<f32>, tensor<f32>, tensor<2x3xf32>) {
  %a = graph.neg %x : tensor<6x4xf32>
  %s = graph.reshape %a : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %u = graph.reshape %s : (tensor<2x3x4xf32>) -> tensor<24xf32>
  %p = graph.reduce %u <max> axes [0] : (tensor<24xf32>) -> tensor<f32>
  %e = graph.exp %y : tensor<2x3x2xf32>
  %b = graph.reshape %e : (tensor<2x3x2xf32>) -> tensor<6x2xf32>
  %v = graph.reshape %b : (tensor<6x2xf32>) -> tensor<12xf32>
  %q = graph.reduce %v <max> axes [0] : (tensor<12xf32>) -> tensor<f32>
  %r = graph.reduce %e <max> axes [2] : (tensor<2x3x2xf32>) -> tensor<2x3xf32>
  %c = graph.concat %a, %b axis 1 : (tensor<6x4xf32>, tensor<6x2xf32>) -> tensor<6x6xf32>
  func.return %c, %p, %q, %r : tensor<6x6xf32>, tensor<f32>, tensor<f32>, tensor<2x3xf32>
}

// Arguments, what is joined already, what is returned, and views are copied.
// CHECK-LABEL: func.func @elsewhere
// CHECK-SAME:    "operand 1 is copied: no operation here computes it" at "%c"
// CHECK-SAME:    "operand 0 is copied: it is already part of another tensor" at "%d"
// CHECK-SAME:    "operand 1 is copied: it is returned" at "%d"
// CHECK-SAME:    "operand 2 is copied: it is a view of another tensor" at "%d"
// CHECK-SAME:    "operand 3 is copied: it has views" at "%d"
// CHECK:         [[X:%.*]] = graph.group ins(%{{.*}} = %x : tensor<6xf32>) -> (tensor<6xf32>) {
// CHECK-NEXT:      graph.transpose {{.*}} permutation [0]
// CHECK:         graph.concat %a, [[X]] axis 0
func.func @elsewhere(%x: tensor<6xf32>)
    -> (tensor<12xf32>, tensor<24xf32>, tensor<6xf32>, tensor<3x2xf32>) {
  %a = graph.neg %x : tensor<6xf32>
  %b = graph.abs %x : tensor<6xf32>
  %r = graph.reshape %x : (tensor<6xf32>) -> tensor<2x3xf32>
  %v = graph.reshape %r : (tensor<2x3xf32>) -> tensor<6xf32>
  %e = graph.exp %x : tensor<6xf32>
  %f = graph.reshape %e : (tensor<6xf32>) -> tensor<3x2xf32>
  %c = graph.concat %a, %x axis 0 : (tensor<6xf32>, tensor<6xf32>) -> tensor<12xf32>
  %d = graph.concat %a, %b, %v, %e axis 0
      : (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<24xf32>
  func.return %c, %d, %b, %f
      : tensor<12xf32>, tensor<24xf32>, tensor<6xf32>, tensor<3x2xf32>
}
