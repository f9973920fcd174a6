// RUN: tlf-opt %s --target npu-tiny -p convert-graph-to-tile | filecheck %s

// A view of an argument is not to be overwritten, so the sum gets a place of its own;
// CHECK-LABEL: func.func @argument
// CHECK:         [[INIT:%.*]] = graph.reshape %c
// CHECK:         [[OWN:%.*]] = tile.empty
// CHECK-NEXT:    tile.slice %w
// CHECK-NEXT:    tile.while {{.*}} into(%{{.*}} = [[OWN]]
func.func @argument(%x: tensor<10x30xf32>, %w: tensor<30x20xf32>, %c: tensor<200xf32>) -> tensor<10x20xf32> {
  %c2 = graph.reshape %c : (tensor<200xf32>) -> tensor<10x20xf32>
  %y = graph.group ins(%l = %x, %r = %w, %d = %c2 : tensor<10x30xf32>, tensor<30x20xf32>, tensor<10x20xf32>) plan #graph.plan<L1, tile [5, 20], mapping loop> -> (tensor<10x20xf32>) {
    %0 = graph.matmul %l, %r init %d : (tensor<10x30xf32>, tensor<30x20xf32>, tensor<10x20xf32>) -> tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  func.return %y : tensor<10x20xf32>
}

// nor is a part of one;
// CHECK-LABEL: func.func @part
// CHECK:         graph.slice %c
// CHECK-NEXT:    [[OWN:%.*]] = tile.empty
// CHECK-NEXT:    tile.slice %w
// CHECK-NEXT:    tile.while {{.*}} into(%{{.*}} = [[OWN]]
func.func @part(%x: tensor<10x30xf32>, %w: tensor<30x20xf32>, %c: tensor<12x20xf32>) -> tensor<10x20xf32> {
  %c2 = graph.slice %c offsets [2, 0] strides [1, 1] : (tensor<12x20xf32>) -> tensor<10x20xf32>
  %y = graph.group ins(%l = %x, %r = %w, %d = %c2 : tensor<10x30xf32>, tensor<30x20xf32>, tensor<10x20xf32>) plan #graph.plan<L1, tile [5, 20], mapping loop> -> (tensor<10x20xf32>) {
    %0 = graph.matmul %l, %r init %d : (tensor<10x30xf32>, tensor<30x20xf32>, tensor<10x20xf32>) -> tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  func.return %y : tensor<10x20xf32>
}

// a view of what was computed is added to in its place.
// CHECK-LABEL: func.func @computed
// CHECK:         [[INIT:%.*]] = graph.reshape
// CHECK-NEXT:    tile.slice %w
// CHECK-NEXT:    tile.while {{.*}} into(%{{.*}} = [[INIT]]
func.func @computed(%x: tensor<10x30xf32>, %w: tensor<30x20xf32>, %c: tensor<200xf32>) -> tensor<10x20xf32> {
  %c1 = graph.exp %c : tensor<200xf32>
  %c2 = graph.reshape %c1 : (tensor<200xf32>) -> tensor<10x20xf32>
  %y = graph.group ins(%l = %x, %r = %w, %d = %c2 : tensor<10x30xf32>, tensor<30x20xf32>, tensor<10x20xf32>) plan #graph.plan<L1, tile [5, 20], mapping loop> -> (tensor<10x20xf32>) {
    %0 = graph.matmul %l, %r init %d : (tensor<10x30xf32>, tensor<30x20xf32>, tensor<10x20xf32>) -> tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  func.return %y : tensor<10x20xf32>
}

// Of two sums that start from one value, the first one is put there,
// CHECK-LABEL: func.func @twice
// CHECK:         [[START:%.*]] = graph.exp
// CHECK-NEXT:    [[OWN:%.*]] = tile.empty
// CHECK-NEXT:    tile.while {{.*}} into(%{{.*}} = [[START]] {{.*}}, %{{.*}} = [[OWN]]
func.func @twice(%x: tensor<10x8xf32>, %c: tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>) {
  %c1 = graph.exp %c : tensor<10xf32>
  %y, %z = graph.group ins(%l = %x, %d = %c1 : tensor<10x8xf32>, tensor<10xf32>) plan #graph.plan<L1, tile [5], mapping loop> -> (tensor<10xf32>, tensor<10xf32>) {
    %0 = graph.reduce %l <sum> init %d axes [1] : (tensor<10x8xf32>, tensor<10xf32>) -> tensor<10xf32>
    %1 = graph.reduce %l <max> init %d axes [1] : (tensor<10x8xf32>, tensor<10xf32>) -> tensor<10xf32>
    graph.yield %0, %1 : tensor<10xf32>, tensor<10xf32>
  }
  func.return %y, %z : tensor<10xf32>, tensor<10xf32>
}

// unless another result overwrites the value;
// CHECK-LABEL: func.func @marked
// CHECK:         [[START:%.*]] = graph.exp
// CHECK-NEXT:    [[OWN:%.*]] = tile.empty
// CHECK-NEXT:    tile.while {{.*}} into(%{{.*}} = [[OWN]] {{.*}}, %{{.*}} = [[START]]
func.func @marked(%x: tensor<10x8xf32>, %c: tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>) {
  %c1 = graph.exp %c : tensor<10xf32>
  %y, %z = graph.group ins(%l = %x, %d = %c1 : tensor<10x8xf32>, tensor<10xf32>) plan #graph.plan<L1, tile [5], mapping loop> attributes {tlf.in_place = #graph.in_place<none, 1>} -> (tensor<10xf32>, tensor<10xf32>) {
    %0 = graph.reduce %l <sum> init %d axes [1] : (tensor<10x8xf32>, tensor<10xf32>) -> tensor<10xf32>
    %1 = graph.neg %d : tensor<10xf32>
    graph.yield %0, %1 : tensor<10xf32>, tensor<10xf32>
  }
  func.return %y, %z : tensor<10xf32>, tensor<10xf32>
}

// and none is put into what its own tiles read elsewhere.
// CHECK-LABEL: func.func @elsewhere
// CHECK:         graph.exp
// CHECK-NEXT:    [[OWN:%.*]] = tile.empty
// CHECK:         tile.while {{.*}} into(%{{.*}} = [[OWN]]
func.func @elsewhere(%x: tensor<10x10xf32>, %c: tensor<10x10xf32>) -> tensor<10x10xf32> {
  %c1 = graph.exp %c : tensor<10x10xf32>
  %y = graph.group ins(%l = %x, %d = %c1 : tensor<10x10xf32>, tensor<10x10xf32>) plan #graph.plan<L1, tile [5, 10], mapping loop> -> (tensor<10x10xf32>) {
    %0 = graph.matmul %l, %d init %d : (tensor<10x10xf32>, tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
    graph.yield %0 : tensor<10x10xf32>
  }
  func.return %y : tensor<10x10xf32>
}
