// RUN: tlf-opt %s -p "graph-fold-constants,tidy" | filecheck %s
// RUN: tlf-opt %s -p "graph-fold-constants{limit=2000},tidy" | filecheck %s --check-prefix=LIMIT
// RUN: not tlf-opt %s -p "graph-fold-constants{limit=few}" 2>&1 | filecheck %s --check-prefix=WRONG
// WRONG: error:

// CHECK-LABEL: func.func @positions
// CHECK-SAME:    #graph.remark<passed "graph-fold-constants" "3 operations became a constant of 2560 bytes" at "%s">
// CHECK-NEXT:    %s = graph.constant dense<
// CHECK-NEXT:    graph.add %x, %s
// LIMIT-LABEL: func.func @positions
// LIMIT-SAME:    #graph.remark<missed "graph-fold-constants" "2560 bytes are more than the limit of 2000" at "%s">
// LIMIT:         graph.sin
func.func @positions(%x: tensor<40x16xf32>) -> tensor<40x16xf32> {
  %i = graph.iota axis 0 : tensor<40x16xf32>
  %c = graph.constant dense<0.5> : tensor<f32>
  %h = graph.mul %i, %c : (tensor<40x16xf32>, tensor<f32>) -> tensor<40x16xf32>
  %s = graph.sin %h : tensor<40x16xf32>
  %y = graph.add %x, %s : (tensor<40x16xf32>, tensor<40x16xf32>) -> tensor<40x16xf32>
  func.return %y : tensor<40x16xf32>
}

// Small tensors always; what is repeated is repeated where it is read.
// CHECK-LABEL: func.func @small
// CHECK-NEXT:    [[C:%.*]] = graph.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    [[B:%.*]] = graph.broadcast [[C]] : (tensor<2xf32>) -> tensor<400x2xf32>
// CHECK-NEXT:    func.return [[B]]
func.func @small() -> tensor<400x2xf32> {
  %i = graph.iota axis 0 : tensor<2xf32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %0 = graph.add %i, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = graph.broadcast %0 : (tensor<2xf32>) -> tensor<400x2xf32>
  func.return %1 : tensor<400x2xf32>
}

// A mask costs less to compute than to read.
// CHECK-LABEL: func.func @mask
// CHECK:         graph.compare
// CHECK:         graph.select
func.func @mask(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %i = graph.iota axis 0 : tensor<64x64xi32>
  %j = graph.iota axis 1 : tensor<64x64xi32>
  %m = graph.compare %i, %j <ge> : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
  %z = graph.constant dense<0.0> : tensor<f32>
  %y = graph.select %m, %x, %z : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  func.return %y : tensor<64x64xf32>
}

// A side file need not be there.
// CHECK-LABEL: func.func @file
// CHECK:         graph.constant file
// CHECK-NEXT:    graph.exp
func.func @file() -> tensor<4xf32> {
  %c = graph.constant file "missing.npz" key "w" : tensor<4xf32>
  %e = graph.exp %c : tensor<4xf32>
  func.return %e : tensor<4xf32>
}
