// RUN: tlf-opt %s -p graph-fold-transposes | filecheck %s

// A transposition becomes the order of axes in a map; what a broadcast repeats is read once.
// CHECK-LABEL: func.func @reads
func.func @reads(%x: tensor<2x5x12xf32>, %w: tensor<7x12xf32>) -> tensor<2x5x7xf32> {
  // CHECK-NEXT: %y = graph.contract %x, %w maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>] : (tensor<2x5x12xf32>, tensor<7x12xf32>) -> tensor<2x5x7xf32>
  %t = graph.transpose %w permutation [1, 0] : (tensor<7x12xf32>) -> tensor<12x7xf32>
  %b = graph.broadcast %t : (tensor<12x7xf32>) -> tensor<2x12x7xf32>
  %y = graph.matmul %x, %b
      : (tensor<2x5x12xf32>, tensor<2x12x7xf32>) -> tensor<2x5x7xf32>
  func.return %y : tensor<2x5x7xf32>
}

// The result is written in the order that its only user wants; options stay.
// CHECK-LABEL: func.func @writes
func.func @writes(%x: tensor<5x12xbf16>, %w: tensor<12x7xbf16>) -> tensor<7x5xf16> {
  // CHECK-NEXT: graph.contract %x, %w maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d1, d0)>] acc f32 : (tensor<5x12xbf16>, tensor<12x7xbf16>) -> tensor<7x5xf32>
  // CHECK-NEXT: graph.cast
  %y = graph.matmul %x, %w acc f32
      : (tensor<5x12xbf16>, tensor<12x7xbf16>) -> tensor<5x7xf32>
  %t = graph.transpose %y permutation [1, 0] : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %z = graph.cast %t : (tensor<7x5xf32>) -> tensor<7x5xf16>
  func.return %z : tensor<7x5xf16>
}

// Heads are split by views and strides alone.
// CHECK-LABEL: func.func @heads
func.func @heads(%q: tensor<2x5x12xf32>, %k: tensor<2x5x12xf32>) -> tensor<2x3x5x5xf32> {
  // CHECK-NOT: graph.transpose
  %0 = graph.reshape %q : (tensor<2x5x12xf32>) -> tensor<2x5x3x4xf32>
  %1 = graph.transpose %0 permutation [0, 2, 1, 3]
      : (tensor<2x5x3x4xf32>) -> tensor<2x3x5x4xf32>
  %2 = graph.reshape %k : (tensor<2x5x12xf32>) -> tensor<2x5x3x4xf32>
  %3 = graph.transpose %2 permutation [0, 2, 3, 1]
      : (tensor<2x5x3x4xf32>) -> tensor<2x3x4x5xf32>
  %4 = graph.matmul %1, %3
      : (tensor<2x3x5x4xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x5x5xf32>
  func.return %4 : tensor<2x3x5x5xf32>
}

// Others need the result as it is.
// CHECK-LABEL: func.func @shared
func.func @shared(%x: tensor<5x12xf32>, %w: tensor<12x7xf32>)
    -> (tensor<5x7xf32>, tensor<7x5xf32>) {
  // CHECK-NEXT: graph.matmul
  // CHECK-NEXT: graph.transpose
  %y = graph.matmul %x, %w : (tensor<5x12xf32>, tensor<12x7xf32>) -> tensor<5x7xf32>
  %t = graph.transpose %y permutation [1, 0] : (tensor<5x7xf32>) -> tensor<7x5xf32>
  func.return %y, %t : tensor<5x7xf32>, tensor<7x5xf32>
}

// Neither a broadcast of an axis of extent 1, nor one that alone has an axis, nor what is
// cut, padded or started from another tensor.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<5x1xf32>, %v: tensor<12xf32>, %w: tensor<9x12xf32>,
                 %z: tensor<5x7xf32>)
    -> (tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>) {
  // CHECK: graph.broadcast
  %0 = graph.broadcast %x : (tensor<5x1xf32>) -> tensor<5x12xf32>
  // CHECK: graph.slice
  %1 = graph.slice %w offsets [1, 0] strides [1, 1]
      : (tensor<9x12xf32>) -> tensor<7x12xf32>
  // CHECK: graph.contract %0, %1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>
  %2 = graph.transpose %1 permutation [1, 0] : (tensor<7x12xf32>) -> tensor<12x7xf32>
  %3 = graph.matmul %0, %2 : (tensor<5x12xf32>, tensor<12x7xf32>) -> tensor<5x7xf32>
  // CHECK: graph.transpose
  %4 = graph.transpose %1 permutation [1, 0] : (tensor<7x12xf32>) -> tensor<12x7xf32>
  // CHECK: graph.matmul {{.*}} init %z
  %5 = graph.matmul %0, %4 init %z
      : (tensor<5x12xf32>, tensor<12x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  // CHECK: graph.broadcast %v
  %6 = graph.broadcast %v : (tensor<12xf32>) -> tensor<5x12xf32>
  %7 = graph.matmul %6, %4 : (tensor<5x12xf32>, tensor<12x7xf32>) -> tensor<5x7xf32>
  func.return %3, %5, %7 : tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>
}

// What cuts axes from their start on does not keep them whole.
// CHECK-LABEL: func.func @cut
func.func @cut(%x: tensor<5x12xf32>, %w: tensor<21x12xf32>, %b: tensor<7xf32>)
    -> (tensor<5x7xf32>, tensor<3x7xf32>) {
  // CHECK-NEXT: %0 = graph.slice %w
  // CHECK-NEXT: graph.contract %x, %0
  %0 = graph.slice %w offsets [0, 0] strides [1, 1]
      : (tensor<21x12xf32>) -> tensor<7x12xf32>
  %1 = graph.transpose %0 permutation [1, 0] : (tensor<7x12xf32>) -> tensor<12x7xf32>
  %2 = graph.matmul %x, %1 : (tensor<5x12xf32>, tensor<12x7xf32>) -> tensor<5x7xf32>
  %3 = graph.add %2, %b : (tensor<5x7xf32>, tensor<7xf32>) -> tensor<5x7xf32>
  // CHECK: graph.contract
  // CHECK-NEXT: graph.slice
  %4 = graph.matmul %x, %1 : (tensor<5x12xf32>, tensor<12x7xf32>) -> tensor<5x7xf32>
  %5 = graph.slice %4 offsets [0, 0] strides [1, 1]
      : (tensor<5x7xf32>) -> tensor<3x7xf32>
  func.return %3, %5 : tensor<5x7xf32>, tensor<3x7xf32>
}

// Permutations move past what is computed element by element, towards contractions.
// CHECK-LABEL: func.func @scaled
// CHECK-DAG:     [[B:%.*]] = graph.reshape %bias : (tensor<4x5xf32>) -> tensor<4x1x5xf32>
// CHECK-DAG:     [[A:%.*]] = graph.add %q, [[B]] : (tensor<4x3x5xf32>, tensor<4x1x5xf32>)
// CHECK:         graph.contract [[A]], %k maps [affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>,
// CHECK-NOT:     graph.transpose
// CHECK:         func.return
func.func @scaled(%q: tensor<4x3x5xf32>, %k: tensor<3x5x6xf32>, %bias: tensor<4x5xf32>)
    -> tensor<3x4x6xf32> {
  %0 = graph.transpose %q permutation [1, 0, 2] : (tensor<4x3x5xf32>) -> tensor<3x4x5xf32>
  %1 = graph.add %0, %bias : (tensor<3x4x5xf32>, tensor<4x5xf32>) -> tensor<3x4x5xf32>
  %2 = graph.matmul %1, %k : (tensor<3x4x5xf32>, tensor<3x5x6xf32>) -> tensor<3x4x6xf32>
  func.return %2 : tensor<3x4x6xf32>
}

// CHECK-LABEL: func.func @biased
// CHECK-NEXT:    [[P:%.*]] = graph.contract %x, %w maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d1, d0, d2)>]
// CHECK-NEXT:    [[A:%.*]] = graph.add [[P]], %b : (tensor<4x3x6xf32>, tensor<6xf32>)
// CHECK-NEXT:    [[R:%.*]] = graph.relu [[A]]
// CHECK-NEXT:    func.return [[R]]
func.func @biased(%x: tensor<3x4x5xf32>, %w: tensor<3x5x6xf32>, %b: tensor<6xf32>)
    -> tensor<4x3x6xf32> {
  %0 = graph.matmul %x, %w : (tensor<3x4x5xf32>, tensor<3x5x6xf32>) -> tensor<3x4x6xf32>
  %1 = graph.add %0, %b : (tensor<3x4x6xf32>, tensor<6xf32>) -> tensor<3x4x6xf32>
  %2 = graph.relu %1 : tensor<3x4x6xf32>
  %3 = graph.transpose %2 permutation [1, 0, 2] : (tensor<3x4x6xf32>) -> tensor<4x3x6xf32>
  func.return %3 : tensor<4x3x6xf32>
}

// An operand that would have to move as well keeps the permutation in its place.
// CHECK-LABEL: func.func @residual
// CHECK-NEXT:    graph.transpose
// CHECK-NEXT:    graph.add
// CHECK-NEXT:    graph.matmul
func.func @residual(%q: tensor<4x3x5xf32>, %k: tensor<3x5x6xf32>, %r: tensor<3x4x5xf32>)
    -> tensor<3x4x6xf32> {
  %0 = graph.transpose %q permutation [1, 0, 2] : (tensor<4x3x5xf32>) -> tensor<3x4x5xf32>
  %1 = graph.add %0, %r : (tensor<3x4x5xf32>, tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  %2 = graph.matmul %1, %k : (tensor<3x4x5xf32>, tensor<3x5x6xf32>) -> tensor<3x4x6xf32>
  func.return %2 : tensor<3x4x6xf32>
}

// Axes of extent 1 that a reshape adds are those of the result alone, but for the only
// axis of rows, and one along which both operands run.
// CHECK-LABEL: func.func @units
// CHECK-NEXT:    [[Y:%.*]] = graph.contract %v, %p maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>] : (tensor<2x6x5xf32>, tensor<2x4x5xf32>) -> tensor<2x6x4xf32>
// CHECK-NEXT:    [[R:%.*]] = graph.reshape [[Y]] : (tensor<2x6x4xf32>) -> tensor<2x6x1x4xf32>
// CHECK-NEXT:    func.return [[R]]
func.func @units(%v: tensor<2x6x5xf32>, %p: tensor<2x4x5xf32>) -> tensor<2x6x1x4xf32> {
  %0 = graph.reshape %p : (tensor<2x4x5xf32>) -> tensor<2x1x4x5xf32>
  %1 = graph.contract %v, %0 maps [affine_map<(b, d, u, i, j) -> (b, d, j)>, affine_map<(b, d, u, i, j) -> (b, u, i, j)>, affine_map<(b, d, u, i, j) -> (b, d, u, i)>] : (tensor<2x6x5xf32>, tensor<2x1x4x5xf32>) -> tensor<2x6x1x4xf32>
  func.return %1 : tensor<2x6x1x4xf32>
}

// CHECK-LABEL: func.func @row
// CHECK-NEXT:    graph.reshape
// CHECK-NEXT:    graph.matmul
func.func @row(%q: tensor<2x8xf32>, %k: tensor<2x8x5xf32>) -> tensor<2x1x5xf32> {
  %0 = graph.reshape %q : (tensor<2x8xf32>) -> tensor<2x1x8xf32>
  %1 = graph.matmul %0, %k : (tensor<2x1x8xf32>, tensor<2x8x5xf32>) -> tensor<2x1x5xf32>
  func.return %1 : tensor<2x1x5xf32>
}
