// RUN: tlf-opt %s -p "graph-hoist-reshapes,tidy" | filecheck %s

// A layer on rows of a batch computes on the batch.
// CHECK-LABEL: func.func @layer
// CHECK-SAME:    #graph.remark<passed "graph-hoist-reshapes" "axes are split before add" at "%s">
// CHECK-SAME:    #graph.remark<passed "graph-hoist-reshapes" "axes are split before matmul" at "%p">
// CHECK-NEXT:    [[P:%.*]] = graph.contract %x, %w maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>] : (tensor<2x5x8xf32>, tensor<8x6xf32>) -> tensor<2x5x6xf32>
// CHECK-NEXT:    [[A:%.*]] = graph.add [[P]], %b : (tensor<2x5x6xf32>, tensor<6xf32>)
// CHECK-NEXT:    [[R:%.*]] = graph.relu [[A]]
// CHECK-NEXT:    func.return [[R]]
func.func @layer(%x: tensor<2x5x8xf32>, %w: tensor<8x6xf32>, %b: tensor<6xf32>) -> tensor<2x5x6xf32> {
  %0 = graph.reshape %x : (tensor<2x5x8xf32>) -> tensor<10x8xf32>
  %p = graph.matmul %0, %w : (tensor<10x8xf32>, tensor<8x6xf32>) -> tensor<10x6xf32>
  %s = graph.add %p, %b : (tensor<10x6xf32>, tensor<6xf32>) -> tensor<10x6xf32>
  %3 = graph.reshape %s : (tensor<10x6xf32>) -> tensor<2x5x6xf32>
  %4 = graph.relu %3 : tensor<2x5x6xf32>
  func.return %4 : tensor<2x5x6xf32>
}

// Operands that are broadcast are split alike.
// CHECK-LABEL: func.func @broadcast
// CHECK-DAG:     [[X:%.*]] = graph.reshape %x : (tensor<12x1xf32>) -> tensor<3x4x1x1xf32>
// CHECK-DAG:     [[Y:%.*]] = graph.reshape %y : (tensor<6xf32>) -> tensor<2x3xf32>
// CHECK:         [[M:%.*]] = graph.mul [[X]], [[Y]] : (tensor<3x4x1x1xf32>, tensor<2x3xf32>) -> tensor<3x4x2x3xf32>
// CHECK-NEXT:    graph.exp [[M]]
func.func @broadcast(%x: tensor<12x1xf32>, %y: tensor<6xf32>) -> tensor<3x4x2x3xf32> {
  %0 = graph.mul %x, %y : (tensor<12x1xf32>, tensor<6xf32>) -> tensor<12x6xf32>
  %1 = graph.reshape %0 : (tensor<12x6xf32>) -> tensor<3x4x2x3xf32>
  %2 = graph.exp %1 : tensor<3x4x2x3xf32>
  func.return %2 : tensor<3x4x2x3xf32>
}

// Nothing computes with the split axes, axes are merged, or others use the product.
// CHECK-LABEL: func.func @stays
// CHECK-SAME:    #graph.remark<missed "graph-hoist-reshapes" "axes are split after matmul: the result has other users" at "%m">
// CHECK:         graph.matmul
// CHECK-NEXT:    graph.reshape
// CHECK-NEXT:    graph.exp
// CHECK-NEXT:    graph.reshape
// CHECK-NEXT:    graph.neg
// CHECK-NEXT:    graph.matmul
// CHECK-NEXT:    graph.reshape
// CHECK-NEXT:    graph.abs
func.func @stays(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %y: tensor<4x6xf32>)
    -> (tensor<2x3x4xf32>, tensor<24xf32>, tensor<6x4xf32>, tensor<2x3x4xf32>) {
  %0 = graph.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %1 = graph.reshape %0 : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %3 = graph.exp %y : tensor<4x6xf32>
  %4 = graph.reshape %3 : (tensor<4x6xf32>) -> tensor<24xf32>
  %5 = graph.neg %4 : tensor<24xf32>
  %m = graph.matmul %x, %w acc f64 : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %7 = graph.reshape %m : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %8 = graph.abs %7 : tensor<2x3x4xf32>
  func.return %1, %5, %m, %8 : tensor<2x3x4xf32>, tensor<24xf32>, tensor<6x4xf32>, tensor<2x3x4xf32>
}

// Axes are split, and parts are cut, before they are permuted.
// CHECK-LABEL: func.func @permuted
// CHECK-NEXT:    [[S:%.*]] = graph.reshape %x : (tensor<6x8x5xf32>) -> tensor<2x3x8x5xf32>
// CHECK-NEXT:    [[T:%.*]] = graph.transpose [[S]] permutation [3, 0, 1, 2]
// CHECK-DAG:     [[A:%.*]] = graph.slice %y offsets [2, 1] strides [3, 2] : (tensor<9x8xf32>) -> tensor<2x3xf32>
// CHECK-DAG:     [[B:%.*]] = graph.transpose [[A]] permutation [1, 0]
// CHECK-DAG:     [[E:%.*]] = graph.exp [[T]]
// CHECK:         func.return [[E]], [[B]]
func.func @permuted(%x: tensor<6x8x5xf32>, %y: tensor<9x8xf32>)
    -> (tensor<5x2x3x8xf32>, tensor<3x2xf32>) {
  %0 = graph.transpose %x permutation [2, 0, 1] : (tensor<6x8x5xf32>) -> tensor<5x6x8xf32>
  %1 = graph.reshape %0 : (tensor<5x6x8xf32>) -> tensor<5x2x3x8xf32>
  %e = graph.exp %1 : tensor<5x2x3x8xf32>
  %2 = graph.transpose %y permutation [1, 0] : (tensor<9x8xf32>) -> tensor<8x9xf32>
  %3 = graph.slice %2 offsets [1, 2] strides [2, 3] : (tensor<8x9xf32>) -> tensor<3x2xf32>
  func.return %e, %3 : tensor<5x2x3x8xf32>, tensor<3x2xf32>
}

// Axes of a result are split behind a permutation: that is a view.
// CHECK-LABEL: func.func @returned
// CHECK-NEXT:    [[T:%.*]] = graph.transpose %x permutation [2, 0, 1]
// CHECK-NEXT:    graph.reshape [[T]]
func.func @returned(%x: tensor<6x8x5xf32>) -> tensor<5x2x3x8xf32> {
  %0 = graph.transpose %x permutation [2, 0, 1] : (tensor<6x8x5xf32>) -> tensor<5x6x8xf32>
  %1 = graph.reshape %0 : (tensor<5x6x8xf32>) -> tensor<5x2x3x8xf32>
  func.return %1 : tensor<5x2x3x8xf32>
}

// A product of what was computed under the shape that its result gets, and what follows
// it, have that shape.
// CHECK-LABEL: func.func @heads
// CHECK:         [[E:%.*]] = graph.exp %x : tensor<2x3x5x7xf32>
// CHECK:         [[V:%.*]] = graph.reshape %v : (tensor<6x7x4xf32>) -> tensor<2x3x7x4xf32>
// CHECK:         [[P:%.*]] = graph.contract [[E]], [[V]]
// CHECK:         [[Y:%.*]] = graph.abs [[P]] : tensor<2x3x5x4xf32>
// CHECK-NEXT:    func.return [[Y]]
func.func @heads(%x: tensor<2x3x5x7xf32>, %v: tensor<6x7x4xf32>) -> tensor<2x3x5x4xf32> {
  %0 = graph.exp %x : tensor<2x3x5x7xf32>
  %1 = graph.reshape %0 : (tensor<2x3x5x7xf32>) -> tensor<6x5x7xf32>
  %2 = graph.matmul %1, %v : (tensor<6x5x7xf32>, tensor<6x7x4xf32>) -> tensor<6x5x4xf32>
  %3 = graph.abs %2 : tensor<6x5x4xf32>
  %y = graph.reshape %3 : (tensor<6x5x4xf32>) -> tensor<2x3x5x4xf32>
  func.return %y : tensor<2x3x5x4xf32>
}

// Reductions along other axes follow, whether they keep these axes or not.
// CHECK-LABEL: func.func @reduced
// CHECK-NEXT:    [[X:%.*]] = graph.reshape %x : (tensor<1x6x5xf32>) -> tensor<2x3x5xf32>
// CHECK-NEXT:    [[E:%.*]] = graph.exp [[X]]
// CHECK-NEXT:    [[S:%.*]] = graph.reduce [[E]] <sum> axes [2] keepdims {{.*}} -> tensor<2x3x1xf32>
// CHECK-NEXT:    [[M:%.*]] = graph.reduce [[E]] <max> axes [2] : {{.*}} -> tensor<2x3xf32>
// CHECK-NEXT:    [[R:%.*]] = graph.reshape [[M]] : (tensor<2x3xf32>) -> tensor<1x6xf32>
// CHECK-NEXT:    [[D:%.*]] = graph.div [[E]], [[S]] : {{.*}} -> tensor<2x3x5xf32>
// CHECK-NEXT:    func.return [[D]], [[R]]
func.func @reduced(%x: tensor<1x6x5xf32>) -> (tensor<2x3x5xf32>, tensor<1x6xf32>) {
  %0 = graph.exp %x : tensor<1x6x5xf32>
  %1 = graph.reduce %0 <sum> axes [2] keepdims : (tensor<1x6x5xf32>) -> tensor<1x6x1xf32>
  %2 = graph.reduce %0 <max> axes [2] : (tensor<1x6x5xf32>) -> tensor<1x6xf32>
  %3 = graph.reshape %0 : (tensor<1x6x5xf32>) -> tensor<2x3x5xf32>
  %4 = graph.reshape %1 : (tensor<1x6x1xf32>) -> tensor<2x3x1xf32>
  %5 = graph.div %3, %4 : (tensor<2x3x5xf32>, tensor<2x3x1xf32>) -> tensor<2x3x5xf32>
  func.return %5, %2 : tensor<2x3x5xf32>, tensor<1x6xf32>
}

// A reduction along an axis that is split does not follow.
// CHECK-LABEL: func.func @reduced_apart
// CHECK-NEXT:    [[E:%.*]] = graph.exp %x : tensor<4x6xf32>
// CHECK-NEXT:    graph.reduce [[E]]
// CHECK-NEXT:    graph.reshape [[E]]
func.func @reduced_apart(%x: tensor<4x6xf32>) -> (tensor<4x1xf32>, tensor<4x2x3xf32>) {
  %0 = graph.exp %x : tensor<4x6xf32>
  %1 = graph.reduce %0 <sum> axes [1] keepdims : (tensor<4x6xf32>) -> tensor<4x1xf32>
  %2 = graph.reshape %0 : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %3 = graph.neg %2 : tensor<4x2x3xf32>
  func.return %1, %3 : tensor<4x1xf32>, tensor<4x2x3xf32>
}

// What a broadcast repeats for several heads is read once.
// CHECK-LABEL: func.func @repeated
// CHECK-NEXT:    [[Q:%.*]] = graph.reshape %q : (tensor<6x5x4xf32>) -> tensor<2x3x5x4xf32>
// CHECK-NEXT:    [[S:%.*]] = graph.contract [[Q]], %k maps [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>] : (tensor<2x3x5x4xf32>, tensor<2x7x4xf32>) -> tensor<2x3x5x7xf32>
// CHECK-NEXT:    [[E:%.*]] = graph.exp [[S]]
// CHECK-NEXT:    [[T:%.*]] = graph.transpose [[E]] permutation [2, 0, 1, 3]
// CHECK-NEXT:    [[R:%.*]] = graph.reshape [[T]] : (tensor<5x2x3x7xf32>) -> tensor<5x6x7xf32>
// CHECK-NEXT:    func.return [[R]]
func.func @repeated(%q: tensor<6x5x4xf32>, %k: tensor<2x7x4xf32>) -> tensor<5x6x7xf32> {
  %0 = graph.reshape %k : (tensor<2x7x4xf32>) -> tensor<2x1x7x4xf32>
  %1 = graph.broadcast %0 : (tensor<2x1x7x4xf32>) -> tensor<2x3x7x4xf32>
  %2 = graph.reshape %1 : (tensor<2x3x7x4xf32>) -> tensor<6x7x4xf32>
  %3 = graph.transpose %2 permutation [0, 2, 1] : (tensor<6x7x4xf32>) -> tensor<6x4x7xf32>
  %4 = graph.matmul %q, %3 : (tensor<6x5x4xf32>, tensor<6x4x7xf32>) -> tensor<6x5x7xf32>
  %5 = graph.exp %4 : tensor<6x5x7xf32>
  %6 = graph.transpose %5 permutation [1, 0, 2] : (tensor<6x5x7xf32>) -> tensor<5x6x7xf32>
  func.return %6 : tensor<5x6x7xf32>
}

// So it is where the axes of batches and heads were one for the product.
// CHECK-LABEL: func.func @repeated_in_batches
// CHECK-NOT:     graph.broadcast
// CHECK:         [[S:%.*]] = graph.contract {{.*}}, %k maps [{{.*}}] : (tensor<3x2x4x5x6xf32>, tensor<3x2x7x6xf32>) -> tensor<3x2x4x5x7xf32>
// CHECK-NEXT:    [[E:%.*]] = graph.exp [[S]]
// CHECK-NEXT:    graph.contract [[E]], %k maps [{{.*}}] : (tensor<3x2x4x5x7xf32>, tensor<3x2x7x6xf32>) -> tensor<3x2x4x5x6xf32>
func.func @repeated_in_batches(%q: tensor<3x8x5x6xf32>, %k: tensor<3x2x7x6xf32>)
    -> tensor<3x8x5x6xf32> {
  %0 = graph.reshape %k : (tensor<3x2x7x6xf32>) -> tensor<3x2x1x7x6xf32>
  %1 = graph.broadcast %0 : (tensor<3x2x1x7x6xf32>) -> tensor<3x2x4x7x6xf32>
  %2 = graph.reshape %1 : (tensor<3x2x4x7x6xf32>) -> tensor<3x8x7x6xf32>
  %3 = graph.transpose %2 permutation [0, 1, 3, 2] : (tensor<3x8x7x6xf32>) -> tensor<3x8x6x7xf32>
  %4 = graph.reshape %q : (tensor<3x8x5x6xf32>) -> tensor<24x5x6xf32>
  %5 = graph.reshape %3 : (tensor<3x8x6x7xf32>) -> tensor<24x6x7xf32>
  %6 = graph.matmul %4, %5 : (tensor<24x5x6xf32>, tensor<24x6x7xf32>) -> tensor<24x5x7xf32>
  %7 = graph.reshape %6 : (tensor<24x5x7xf32>) -> tensor<3x8x5x7xf32>
  %8 = graph.exp %7 : tensor<3x8x5x7xf32>
  %9 = graph.reshape %8 : (tensor<3x8x5x7xf32>) -> tensor<24x5x7xf32>
  %10 = graph.reshape %2 : (tensor<3x8x7x6xf32>) -> tensor<24x7x6xf32>
  %11 = graph.matmul %9, %10 : (tensor<24x5x7xf32>, tensor<24x7x6xf32>) -> tensor<24x5x6xf32>
  %12 = graph.reshape %11 : (tensor<24x5x6xf32>) -> tensor<3x8x5x6xf32>
  func.return %12 : tensor<3x8x5x6xf32>
}

// Two reshapes alike are split before what both read, a sum under one and a product under
// the other.
// CHECK-LABEL: func.func @read_twice
// CHECK:         [[S:%.*]] = graph.contract {{.*}} -> tensor<2x3x5x7xf32>
// CHECK-DAG:     graph.reduce [[S]] <sum> axes [3]
// CHECK-DAG:     graph.contract [[S]], {{.*}} -> tensor<2x3x5x4xf32>
// CHECK:         graph.div
// CHECK-NOT:     graph.reshape
func.func @read_twice(%q: tensor<6x5x4xf32>, %k: tensor<6x4x7xf32>, %v: tensor<6x7x4xf32>)
    -> tensor<2x3x5x4xf32> {
  %0 = graph.matmul %q, %k : (tensor<6x5x4xf32>, tensor<6x4x7xf32>) -> tensor<6x5x7xf32>
  %1 = graph.matmul %0, %v : (tensor<6x5x7xf32>, tensor<6x7x4xf32>) -> tensor<6x5x4xf32>
  %2 = graph.reshape %1 : (tensor<6x5x4xf32>) -> tensor<2x3x5x4xf32>
  %3 = graph.reshape %0 : (tensor<6x5x7xf32>) -> tensor<2x3x5x7xf32>
  %4 = graph.reduce %3 <sum> axes [3] keepdims : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x1xf32>
  %5 = graph.div %2, %4 : (tensor<2x3x5x4xf32>, tensor<2x3x5x1xf32>) -> tensor<2x3x5x4xf32>
  func.return %5 : tensor<2x3x5x4xf32>
}

// A reshape is undone but for axes of extent 1, as products of `einsum` have them.
// CHECK-LABEL: func.func @undone_but_for_one
// CHECK:         [[E:%.*]] = graph.exp %x
// CHECK-NEXT:    [[T:%.*]] = graph.transpose [[E]] permutation [0, 1, 3, 2]
// CHECK:         graph.contract [[T]], {{.*}} -> tensor<2x3x4x1x4xf32>
func.func @undone_but_for_one(%x: tensor<2x3x5x4xf32>, %y: tensor<2x3x5x4xf32>)
    -> tensor<2x3x4x1x4xf32> {
  %0 = graph.exp %x : tensor<2x3x5x4xf32>
  %1 = graph.reshape %0 : (tensor<2x3x5x4xf32>) -> tensor<2x3x5x4x1xf32>
  %2 = graph.transpose %1 permutation [0, 1, 3, 2, 4] : (tensor<2x3x5x4x1xf32>) -> tensor<2x3x4x5x1xf32>
  %3 = graph.reshape %2 : (tensor<2x3x4x5x1xf32>) -> tensor<6x4x5xf32>
  %4 = graph.reshape %y : (tensor<2x3x5x4xf32>) -> tensor<6x5x4xf32>
  %5 = graph.matmul %3, %4 : (tensor<6x4x5xf32>, tensor<6x5x4xf32>) -> tensor<6x4x4xf32>
  %6 = graph.reshape %5 : (tensor<6x4x4xf32>) -> tensor<2x3x4x1x4xf32>
  func.return %6 : tensor<2x3x4x1x4xf32>
}

// Heads and batches that are merged before a product are axes of their own in it, where
// what makes its factor has them.
// CHECK-LABEL: func.func @batch
// CHECK:         [[N:%.*]] = graph.neg {{%.*}} : tensor<2x3x5x7xf32>
// CHECK-NEXT:    [[V:%.*]] = graph.reshape %v : (tensor<6x7x4xf32>) -> tensor<2x3x7x4xf32>
// CHECK-NEXT:    [[P:%.*]] = graph.contract [[N]], [[V]] {{.*}} -> tensor<2x3x5x4xf32>
// CHECK-NEXT:    graph.reshape [[P]] : (tensor<2x3x5x4xf32>) -> tensor<6x5x4xf32>
func.func @batch(%s: tensor<2x3x5x7xf32>, %v: tensor<6x7x4xf32>) -> tensor<6x5x4xf32> {
  %e = graph.exp %s : tensor<2x3x5x7xf32>
  %m = graph.reshape %e : (tensor<2x3x5x7xf32>) -> tensor<6x5x7xf32>
  %n = graph.neg %m : tensor<6x5x7xf32>
  %y = graph.matmul %n, %v : (tensor<6x5x7xf32>, tensor<6x7x4xf32>) -> tensor<6x5x4xf32>
  func.return %y : tensor<6x5x4xf32>
}

// Axes of what is computed are merged behind a permutation, but in front of one that a
// product reads through.
// CHECK-LABEL: func.func @merged
// CHECK:         [[T:%.*]] = graph.transpose {{%.*}} permutation [0, 3, 1, 2] : (tensor<2x3x5x7xf32>) -> tensor<2x7x3x5xf32>
// CHECK-NEXT:    graph.reshape [[T]] : (tensor<2x7x3x5xf32>) -> tensor<2x7x15xf32>
// CHECK:         [[M:%.*]] = graph.reshape {{%.*}} : (tensor<2x3x5x7xf32>) -> tensor<2x15x7xf32>
// CHECK-NEXT:    [[K:%.*]] = graph.transpose [[M]] permutation [0, 2, 1] : (tensor<2x15x7xf32>) -> tensor<2x7x15xf32>
// CHECK-NEXT:    graph.matmul %q, [[K]]
func.func @merged(%x: tensor<2x3x5x7xf32>, %q: tensor<2x4x7xf32>) -> (tensor<2x7x15xf32>, tensor<2x4x15xf32>) {
  %e = graph.exp %x : tensor<2x3x5x7xf32>
  %m = graph.reshape %e : (tensor<2x3x5x7xf32>) -> tensor<2x15x7xf32>
  %t = graph.transpose %m permutation [0, 2, 1] : (tensor<2x15x7xf32>) -> tensor<2x7x15xf32>
  %f = graph.neg %x : tensor<2x3x5x7xf32>
  %n = graph.reshape %f : (tensor<2x3x5x7xf32>) -> tensor<2x15x7xf32>
  %k = graph.transpose %n permutation [0, 2, 1] : (tensor<2x15x7xf32>) -> tensor<2x7x15xf32>
  %y = graph.matmul %q, %k : (tensor<2x4x7xf32>, tensor<2x7x15xf32>) -> tensor<2x4x15xf32>
  func.return %t, %y : tensor<2x7x15xf32>, tensor<2x4x15xf32>
}

// Keys that are repeated for heads are read once, whatever shape the product has.
// CHECK-LABEL: func.func @shared
// CHECK-NOT:     graph.broadcast
// CHECK:         graph.contract {{.*}} -> tensor<2x2x2x5x5xf32>
// CHECK-NOT:     graph.broadcast
// CHECK:         func.return
func.func @shared(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x5x8xf32>) -> tensor<2x4x5x5xf32> {
  %0 = graph.reshape %k : (tensor<2x2x5x8xf32>) -> tensor<2x2x1x5x8xf32>
  %1 = graph.broadcast %0 : (tensor<2x2x1x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %2 = graph.reshape %1 : (tensor<2x2x2x5x8xf32>) -> tensor<2x4x5x8xf32>
  %3 = graph.transpose %2 permutation [0, 1, 3, 2] : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %4 = graph.reshape %q : (tensor<2x4x5x8xf32>) -> tensor<8x5x8xf32>
  %5 = graph.reshape %3 : (tensor<2x4x8x5xf32>) -> tensor<8x8x5xf32>
  %s = graph.matmul %4, %5 : (tensor<8x5x8xf32>, tensor<8x8x5xf32>) -> tensor<8x5x5xf32>
  %6 = graph.reshape %s : (tensor<8x5x5xf32>) -> tensor<2x4x5x5xf32>
  %7 = graph.exp %6 : tensor<2x4x5x5xf32>
  func.return %7 : tensor<2x4x5x5xf32>
}

// Elementwise operations compute on the axes of a product that a reshape interleaves:
// the product can write them in this order. So does a reduction of whole axes.
// CHECK-LABEL: func.func @interleaved
// CHECK:         [[P:%.*]] = graph.contract
// CHECK:         [[T:%.*]] = graph.transpose {{.*}} -> tensor<5x2x8x3xf32>
// CHECK-NEXT:    [[Z:%.*]] = graph.reshape %z : (tensor<10x24xf32>) -> tensor<5x2x8x3xf32>
// CHECK-NEXT:    [[A:%.*]] = graph.add [[T]], [[Z]] : (tensor<5x2x8x3xf32>, tensor<5x2x8x3xf32>)
// CHECK-NEXT:    [[B:%.*]] = graph.reshape %b : (tensor<10x1xf32>) -> tensor<5x2x1x1xf32>
// CHECK-NEXT:    [[M:%.*]] = graph.mul [[A]], [[B]] : (tensor<5x2x8x3xf32>, tensor<5x2x1x1xf32>)
// CHECK-DAG:     [[Y:%.*]] = graph.reshape [[M]] : (tensor<5x2x8x3xf32>) -> tensor<10x24xf32>
// CHECK-DAG:     [[R:%.*]] = graph.reduce [[M]] <sum> axes [2, 3] : (tensor<5x2x8x3xf32>) -> tensor<5x2xf32>
// CHECK-DAG:     [[S:%.*]] = graph.reshape [[R]] : (tensor<5x2xf32>) -> tensor<10xf32>
// CHECK:         func.return [[Y]], [[S]]
func.func @interleaved(%x: tensor<5x8x4xf32>, %w: tensor<4x2x3xf32>, %z: tensor<10x24xf32>, %b: tensor<10x1xf32>)
    -> (tensor<10x24xf32>, tensor<10xf32>) {
  %0 = graph.contract %x, %w maps [affine_map<(i, j, k, p, q) -> (i, j, k)>, affine_map<(i, j, k, p, q) -> (k, p, q)>,
    affine_map<(i, j, k, p, q) -> (i, j, p, q)>] : (tensor<5x8x4xf32>, tensor<4x2x3xf32>) -> tensor<5x8x2x3xf32>
  %1 = graph.transpose %0 permutation [0, 2, 1, 3] : (tensor<5x8x2x3xf32>) -> tensor<5x2x8x3xf32>
  %2 = graph.reshape %1 : (tensor<5x2x8x3xf32>) -> tensor<10x24xf32>
  %3 = graph.add %2, %z : (tensor<10x24xf32>, tensor<10x24xf32>) -> tensor<10x24xf32>
  %4 = graph.mul %3, %b : (tensor<10x24xf32>, tensor<10x1xf32>) -> tensor<10x24xf32>
  %5 = graph.reduce %4 <sum> axes [1] : (tensor<10x24xf32>) -> tensor<10xf32>
  func.return %4, %5 : tensor<10x24xf32>, tensor<10xf32>
}

// Without a product, or without a permutation, axes stay merged: that is a view.
// CHECK-LABEL: func.func @not_interleaved
// CHECK:         graph.exp {{.*}} : tensor<10x24xf32>
// CHECK:         graph.exp {{.*}} : tensor<10x12xf32>
func.func @not_interleaved(%x: tensor<5x8x2x3xf32>, %u: tensor<5x2x4xf32>, %w: tensor<4x12xf32>)
    -> (tensor<10x24xf32>, tensor<10x12xf32>) {
  %0 = graph.transpose %x permutation [0, 2, 1, 3] : (tensor<5x8x2x3xf32>) -> tensor<5x2x8x3xf32>
  %1 = graph.reshape %0 : (tensor<5x2x8x3xf32>) -> tensor<10x24xf32>
  %2 = graph.exp %1 : tensor<10x24xf32>
  %3 = graph.contract %u, %w maps [affine_map<(i, j, k, p) -> (i, j, k)>, affine_map<(i, j, k, p) -> (k, p)>,
    affine_map<(i, j, k, p) -> (i, j, p)>] : (tensor<5x2x4xf32>, tensor<4x12xf32>) -> tensor<5x2x12xf32>
  %4 = graph.reshape %3 : (tensor<5x2x12xf32>) -> tensor<10x12xf32>
  %5 = graph.exp %4 : tensor<10x12xf32>
  func.return %2, %5 : tensor<10x24xf32>, tensor<10x12xf32>
}

// A gather that repeats a tensor along whole axes becomes a broadcast; one that
// permutes axes, or repeats some elements of an axis, stays.
// CHECK-LABEL: func.func @gathered
// CHECK:         [[S:%.*]] = graph.reshape %s : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
// CHECK-NEXT:    [[A:%.*]] = graph.sub %x, [[S]] : (tensor<2x5x3xf32>, tensor<2x1x3xf32>)
// CHECK-NEXT:    [[P:%.*]] = graph.im2col %t
// CHECK-NEXT:    [[B:%.*]] = graph.mul [[A]], [[P]]
// CHECK-NEXT:    [[Q:%.*]] = graph.im2col %u
// CHECK-NEXT:    graph.add [[B]], [[Q]]
func.func @gathered(%x: tensor<2x5x3xf32>, %s: tensor<2x3xf32>, %t: tensor<3x2xf32>, %u: tensor<4x3xf32>) -> tensor<2x5x3xf32> {
  %0 = graph.im2col %s map affine_map<(n, p, c) -> (n, c)> basis [[2], [5], [3]] fill 0.0 : (tensor<2x3xf32>) -> tensor<2x5x3xf32>
  %1 = graph.sub %x, %0 : (tensor<2x5x3xf32>, tensor<2x5x3xf32>) -> tensor<2x5x3xf32>
  %2 = graph.im2col %t map affine_map<(n, p, c) -> (c, n)> basis [[2], [5], [3]] fill 0.0 : (tensor<3x2xf32>) -> tensor<2x5x3xf32>
  %3 = graph.mul %1, %2 : (tensor<2x5x3xf32>, tensor<2x5x3xf32>) -> tensor<2x5x3xf32>
  %4 = graph.im2col %u map affine_map<(n, p, c) -> (n, c)> basis [[2], [5], [3]] fill 0.0 : (tensor<4x3xf32>) -> tensor<2x5x3xf32>
  %5 = graph.add %3, %4 : (tensor<2x5x3xf32>, tensor<2x5x3xf32>) -> tensor<2x5x3xf32>
  func.return %5 : tensor<2x5x3xf32>
}

// Pixels move behind the channels and back: the order of elements is that of the product.
// CHECK-LABEL: func.func @patches
// CHECK-NEXT:    [[P:%.*]] = graph.reshape %x : (tensor<24x8xf32>) -> tensor<2x12x8xf32>
// CHECK-NEXT:    func.return [[P]]
func.func @patches(%x: tensor<24x8xf32>) -> tensor<2x12x8xf32> {
  %0 = graph.reshape %x : (tensor<24x8xf32>) -> tensor<2x3x4x8xf32>
  %1 = graph.transpose %0 permutation [0, 3, 1, 2] : (tensor<2x3x4x8xf32>) -> tensor<2x8x3x4xf32>
  %2 = graph.reshape %1 : (tensor<2x8x3x4xf32>) -> tensor<2x8x12xf32>
  %3 = graph.transpose %2 permutation [0, 2, 1] : (tensor<2x8x12xf32>) -> tensor<2x12x8xf32>
  func.return %3 : tensor<2x12x8xf32>
}

// Rows and columns of pixels are exchanged on the way.
// CHECK-LABEL: func.func @turned_patches
// CHECK-COUNT-2: graph.transpose
// CHECK:         func.return
func.func @turned_patches(%x: tensor<24x8xf32>) -> tensor<2x12x8xf32> {
  %0 = graph.reshape %x : (tensor<24x8xf32>) -> tensor<2x3x4x8xf32>
  %1 = graph.transpose %0 permutation [0, 3, 2, 1] : (tensor<2x3x4x8xf32>) -> tensor<2x8x4x3xf32>
  %2 = graph.reshape %1 : (tensor<2x8x4x3xf32>) -> tensor<2x8x12xf32>
  %3 = graph.transpose %2 permutation [0, 2, 1] : (tensor<2x8x12xf32>) -> tensor<2x12x8xf32>
  func.return %3 : tensor<2x12x8xf32>
}

// Rows of pixels stay merged: a split of them changes nothing about the reshape of the
// weights, such as those of a convolution of one pixel.
// CHECK-LABEL: func.func @one_pixel
// CHECK:         [[P:%.*]] = graph.contract %x, {{.*}} -> tensor<6x5xf32>
// CHECK-NEXT:    [[Y:%.*]] = graph.reshape [[P]] : (tensor<6x5xf32>) -> tensor<1x2x3x5xf32>
// CHECK-NEXT:    graph.im2col [[Y]]
func.func @one_pixel(%x: tensor<6x4xf32>, %w: tensor<5x4x1x1xf32>) -> tensor<2x10xf32> {
  %0 = graph.relu %w : tensor<5x4x1x1xf32>
  %1 = graph.reshape %0 : (tensor<5x4x1x1xf32>) -> tensor<5x4xf32>
  %2 = graph.contract %x, %1 maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      : (tensor<6x4xf32>, tensor<5x4xf32>) -> tensor<6x5xf32>
  %3 = graph.reshape %2 : (tensor<6x5xf32>) -> tensor<1x2x3x5xf32>
  %4 = graph.im2col %3 map affine_map<(m, s, c) -> (0, m, s + 1, c)> basis [[2], [2, 5]] fill 0.0 : (tensor<1x2x3x5xf32>) -> tensor<2x10xf32>
  func.return %4 : tensor<2x10xf32>
}

// A reshape of the left factor that only drops a unit axis cancels with a reshape of the
// result that inserts it again.
// CHECK-LABEL: func.func @one_head
// CHECK:         [[X:%.*]] = graph.relu %x : tensor<8x1x4x6xf32>
// CHECK-NEXT:    [[Y:%.*]] = graph.contract [[X]], %w
// CHECK-SAME:      -> tensor<8x1x4x5xf32>
// CHECK-NEXT:    func.return [[Y]]
func.func @one_head(%x: tensor<8x1x4x6xf32>, %w: tensor<8x6x5xf32>) -> tensor<8x1x4x5xf32> {
  %0 = graph.relu %x : tensor<8x1x4x6xf32>
  %1 = graph.reshape %0 : (tensor<8x1x4x6xf32>) -> tensor<8x4x6xf32>
  %2 = graph.matmul %1, %w : (tensor<8x4x6xf32>, tensor<8x6x5xf32>) -> tensor<8x4x5xf32>
  %3 = graph.reshape %2 : (tensor<8x4x5xf32>) -> tensor<8x1x4x5xf32>
  func.return %3 : tensor<8x1x4x5xf32>
}
