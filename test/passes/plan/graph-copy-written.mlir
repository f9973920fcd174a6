// RUN: tlf-opt %s --target npu -p graph-copy-written | filecheck %s
// RUN: tlf-opt %s --target npu-tiny -p "graph-copy-written,graph-group{level=L2},graph-select-tile-sizes{level=L2},dce,convert-graph-to-tile" | filecheck %s --check-prefix=TILES
// RUN: tlf-opt %s --target h200 -p "graph-copy-written{constants=true}" | filecheck %s --check-prefix=CONSTANTS

// What is computed here and needed by nothing else is written to where it is, and so is
// what was written to before.
// CHECK-LABEL: func.func @own
// CHECK:         [[X:%.*]] = graph.neg
// CHECK-NEXT:    [[Z:%.*]] = graph.scatter [[X]],
// CHECK-NEXT:    graph.scatter [[Z]],
func.func @own(%a: tensor<9x8xf32>, %n: tensor<5x1xi64>, %u: tensor<5x8xf32>) -> tensor<9x8xf32> {
  %x = graph.neg %a : tensor<9x8xf32>
  %0 = graph.scatter %x, %n, %u axis 0 <add> : (tensor<9x8xf32>, tensor<5x1xi64>, tensor<5x8xf32>) -> tensor<9x8xf32>
  %1 = graph.scatter %0, %n, %u axis 0 <set> : (tensor<9x8xf32>, tensor<5x1xi64>, tensor<5x8xf32>) -> tensor<9x8xf32>
  func.return %1 : tensor<9x8xf32>
}

// Equal numbers are put where they are written to.
// CONSTANTS-LABEL: func.func @zeros
// CONSTANTS-SAME:    "its destination is copied: it is a constant"
// CONSTANTS-NEXT:    [[X:%.*]] = graph.constant
// CONSTANTS-NEXT:    [[C:%.*]] = graph.transpose [[X]] permutation [0, 1]
// CONSTANTS-NEXT:    graph.scatter [[C]]
// CHECK-LABEL: func.func @zeros
// CHECK-NEXT:    graph.constant
// CHECK-NEXT:    graph.scatter
func.func @zeros(%n: tensor<5x1xi64>, %u: tensor<5x8xf32>) -> tensor<9x8xf32> {
  %x = graph.constant dense<0.0> : tensor<9x8xf32>
  %0 = graph.scatter %x, %n, %u axis 0 <add> : (tensor<9x8xf32>, tensor<5x1xi64>, tensor<5x8xf32>) -> tensor<9x8xf32>
  func.return %0 : tensor<9x8xf32>
}

// An argument keeps its elements, and so does what others need.
// CHECK-LABEL: func.func @given
// CHECK-SAME:    "its destination is copied: no operation here computes it"
// CHECK-SAME:    "its destination is copied: it has other users"
// CHECK-NEXT:    [[C:%.*]] = graph.transpose %x permutation [0, 1]
// CHECK-NEXT:    [[Y:%.*]] = graph.scatter [[C]],
// CHECK-NEXT:    [[D:%.*]] = graph.transpose [[Y]] permutation [0, 1]
// CHECK-NEXT:    [[Z:%.*]] = graph.scatter [[D]],
// CHECK-NEXT:    func.return [[Y]], [[Z]]
// TILES-LABEL: func.func @given
// TILES:         tile.while {{.*}} parallel
// TILES:         [[T:%.*]] = tile.slice %n[0, 0]
// TILES-NEXT:    [[S:%.*]] = tile.slice %u[0, 0]
// TILES-NEXT:    tile.scatter [[S]] into {{.*}}[0, 0] axis 0 at [[T]] maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, 0)>] accumulate
func.func @given(%x: tensor<9x8xf32>, %n: tensor<5x1xi64>, %u: tensor<5x8xf32>) -> (tensor<9x8xf32>, tensor<9x8xf32>) {
  %0 = graph.scatter %x, %n, %u axis 0 <add> : (tensor<9x8xf32>, tensor<5x1xi64>, tensor<5x8xf32>) -> tensor<9x8xf32>
  %1 = graph.scatter %0, %n, %u axis 0 <add> : (tensor<9x8xf32>, tensor<5x1xi64>, tensor<5x8xf32>) -> tensor<9x8xf32>
  func.return %0, %1 : tensor<9x8xf32>, tensor<9x8xf32>
}
