// RUN: tlf-opt %s -p graph-decompose | filecheck %s
// RUN: tlf-opt %s --target h200 -p graph-decompose | filecheck %s --check-prefix=ROWS

// Weights of an axis are a matrix; an axis whose points are its elements is kept.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT:    graph.constant
// CHECK-NEXT:    graph.contract {{.*}} -> tensor<1x2x5x8xf32>
// CHECK-NEXT:    return

// Targets with indexed loads compute rows instead.
// ROWS:          graph.interpolate
func.func @kept(%x: tensor<1x2x5x4xf32>) -> tensor<1x2x5x8xf32> {
  %y = graph.interpolate %x steps [1.0, 0.5] half_pixel : (tensor<1x2x5x4xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}
