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
