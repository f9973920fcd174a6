// RUN: tlf-opt %s --target h200 -p "convert-graph-to-tile,canonicalize,tlf-cse,dce" | filecheck %s
// RUN: tlf-opt %s --target npu -p "convert-graph-to-tile,canonicalize,tlf-cse,dce" | filecheck %s --check-prefix NPU

// Hidden elements are 0, and add nothing to a product: the loop of a tile of rows ends at
// its last row. Few iterations compute no mask, so that they have no loop of their own.
// CHECK-LABEL: func.func @triangular
// CHECK:         tile.while (%i_1 = 0 to 32 step 4) parallel
// CHECK:           [[END:%.*]] = affine.apply affine_map<(d0) -> ((d0 + 4))> (%i_1)
// CHECK:           tile.while (%k = 0 to [[END]] step 4) sequential
// CHECK:             graph.compare
// CHECK:             graph.select

// Loops of an NPU have constant bounds.
// NPU-LABEL:     func.func @triangular
// NPU:             tile.while (%k = 0 to 32 step 4) sequential
func.func @triangular(%a: tensor<32x32xf32>, %b: tensor<32x8xf32>) -> tensor<32x8xf32> {
  %i = graph.iota axis 0 : tensor<32x1xi32>
  %j = graph.iota axis 0 : tensor<32xi32>
  %y = graph.group ins(%g = %i, %h = %j, %s = %a, %v = %b : tensor<32x1xi32>, tensor<32xi32>, tensor<32x32xf32>, tensor<32x8xf32>) plan #graph.plan<L1, tile [4, 8], reduce [4], mapping grid> -> (tensor<32x8xf32>) {
    %zero = graph.constant dense<0.0> : tensor<f32>
    %m = graph.compare %g, %h <ge> : (tensor<32x1xi32>, tensor<32xi32>) -> tensor<32x32xi1>
    %t = graph.select %m, %s, %zero : (tensor<32x32xi1>, tensor<32x32xf32>, tensor<f32>) -> tensor<32x32xf32>
    %p = graph.matmul %t, %v : (tensor<32x32xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
    graph.yield %p : tensor<32x8xf32>
  }
  func.return %y : tensor<32x8xf32>
}

// Most iterations compute no mask, in a loop of their own.
// CHECK-LABEL: func.func @unmasked
// CHECK:         tile.while (%i_1 = 0 to 256 step 4) parallel
// CHECK:           [[END:%.*]] = affine.apply affine_map<(d0) -> ((d0 + 4))> (%i_1)
// CHECK:           [[PART:%.*]] = tile.while (%k = %i_1 to [[END]] step 4) sequential
// CHECK:             graph.compare
// CHECK:           tile.while (%k_1 = 0 to %i_1 step 4) sequential mapping(loop) carry(%{{.*}} = [[PART]]
// CHECK-NOT:         graph.compare
// CHECK:             tile.deslice
func.func @unmasked(%a: tensor<256x256xf32>, %b: tensor<256x8xf32>) -> tensor<256x8xf32> {
  %i = graph.iota axis 0 : tensor<256x1xi32>
  %j = graph.iota axis 0 : tensor<256xi32>
  %y = graph.group ins(%g = %i, %h = %j, %s = %a, %v = %b : tensor<256x1xi32>, tensor<256xi32>, tensor<256x256xf32>, tensor<256x8xf32>) plan #graph.plan<L1, tile [4, 8], reduce [4], mapping grid> -> (tensor<256x8xf32>) {
    %zero = graph.constant dense<0.0> : tensor<f32>
    %m = graph.compare %g, %h <ge> : (tensor<256x1xi32>, tensor<256xi32>) -> tensor<256x256xi1>
    %t = graph.select %m, %s, %zero : (tensor<256x256xi1>, tensor<256x256xf32>, tensor<f32>) -> tensor<256x256xf32>
    %p = graph.matmul %t, %v : (tensor<256x256xf32>, tensor<256x8xf32>) -> tensor<256x8xf32>
    graph.yield %p : tensor<256x8xf32>
  }
  func.return %y : tensor<256x8xf32>
}

// A maximum of columns around each row, of which others are -inf. Both bounds depend on
// the row, and are at multiples of the tile.
// CHECK-LABEL: func.func @window
// CHECK:         tile.while (%i_1 = 0 to 32 step 4) parallel
// CHECK-DAG:       [[FIRST:%.*]] = affine.apply affine_map<(d0) -> ((d0 + -3))> (%i_1)
// CHECK-DAG:       [[LOW:%.*]] = affine.apply affine_map<(d0) -> (((d0 floordiv 8) * 8))> ([[FIRST]])
// CHECK-DAG:       [[ZERO:%.*]] = arith.constant 0 : index
// CHECK:           [[LOWER:%.*]] = arith.maxsi
// CHECK:           [[UPPER:%.*]] = arith.minsi
// CHECK:           tile.while (%k = [[LOWER]] to [[UPPER]] step 8) sequential
func.func @window(%a: tensor<32x32xf32>) -> tensor<32xf32> {
  %i = graph.iota axis 0 : tensor<32x1xi32>
  %j = graph.iota axis 0 : tensor<32xi32>
  %y = graph.group ins(%g = %i, %h = %j, %s = %a : tensor<32x1xi32>, tensor<32xi32>, tensor<32x32xf32>) plan #graph.plan<L1, tile [4], reduce [8], mapping grid> -> (tensor<32xf32>) {
    %least = graph.constant dense<0xFF800000> : tensor<f32>
    %far = graph.constant dense<3> : tensor<i32>
    %d = graph.sub %g, %h : (tensor<32x1xi32>, tensor<32xi32>) -> tensor<32x32xi32>
    %n = graph.abs %d : tensor<32x32xi32>
    %m = graph.compare %n, %far <gt> : (tensor<32x32xi32>, tensor<i32>) -> tensor<32x32xi1>
    %t = graph.select %m, %least, %s : (tensor<32x32xi1>, tensor<f32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %p = graph.reduce %t <max> axes [1] : (tensor<32x32xf32>) -> tensor<32xf32>
    graph.yield %p : tensor<32xf32>
  }
  func.return %y : tensor<32xf32>
}

// Hidden elements of 1 are not neutral: all iterations run.
// CHECK-LABEL: func.func @ones
// CHECK:         tile.while (%k = 0 to 32 step 4) sequential
func.func @ones(%a: tensor<32x32xf32>) -> tensor<32xf32> {
  %i = graph.iota axis 0 : tensor<32x1xi32>
  %j = graph.iota axis 0 : tensor<32xi32>
  %y = graph.group ins(%g = %i, %h = %j, %s = %a : tensor<32x1xi32>, tensor<32xi32>, tensor<32x32xf32>) plan #graph.plan<L1, tile [4], reduce [4], mapping grid> -> (tensor<32xf32>) {
    %one = graph.constant dense<1.0> : tensor<f32>
    %m = graph.compare %g, %h <ge> : (tensor<32x1xi32>, tensor<32xi32>) -> tensor<32x32xi1>
    %t = graph.select %m, %s, %one : (tensor<32x32xi1>, tensor<32x32xf32>, tensor<f32>) -> tensor<32x32xf32>
    %p = graph.reduce %t <sum> axes [1] : (tensor<32x32xf32>) -> tensor<32xf32>
    graph.yield %p : tensor<32xf32>
  }
  func.return %y : tensor<32xf32>
}
