// RUN: tlf-opt %s --target h200 -p graph-pad-factors | filecheck %s
// RUN: tlf-opt %s --target npu -p graph-pad-factors | filecheck %s --check-prefix=NPU
// RUN: tlf-opt %s -p graph-pad-factors | filecheck %s --check-prefix=NPU

// NPU-NOT: graph.pad

// Rows of both factors get multiples of 16 bytes; the result loses the added columns.
// CHECK-LABEL: func.func @both
// CHECK-NEXT:    [[X:%.*]] = graph.pad %x low [0, 0] high [0, 3]
// CHECK-NEXT:    [[W:%.*]] = graph.pad %w low [0, 0] high [3, 1]
// CHECK-NEXT:    [[P:%.*]] = graph.contract [[X]], [[W]] {{.*}} precision "bf16x6" {{.*}} -> tensor<4100x4096xf32>
// CHECK-NEXT:    %y = graph.slice [[P]] offsets [0, 0] strides [1, 1] : (tensor<4100x4096xf32>) -> tensor<4100x4095xf32>
func.func @both(%x: tensor<4100x2045xf32>, %w: tensor<2045x4095xf32>) -> tensor<4100x4095xf32> {
  %y = graph.matmul %x, %w precision "bf16x6" : (tensor<4100x2045xf32>, tensor<2045x4095xf32>) -> tensor<4100x4095xf32>
  func.return %y : tensor<4100x4095xf32>
}

// A weight is padded before the first call; rows of the other factor get as many zeros.
// CHECK-LABEL: func.func @weight
// CHECK:         graph.pad %x low [0, 0] high [0, 7]
// CHECK-NEXT:    graph.pad %w low [0, 0] high [0, 7]
// CHECK-NEXT:    graph.contract
// CHECK-NOT:     graph.slice
func.func @weight(%x: tensor<2048x1025xbf16>, %w: tensor<4096x1025xbf16> {tlf.parameter}) -> tensor<2048x4096xbf16> {
  %y = graph.contract %x, %w maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
    : (tensor<2048x1025xbf16>, tensor<4096x1025xbf16>) -> tensor<2048x4096xbf16>
  func.return %y : tensor<2048x4096xbf16>
}

// Kept: rows of whole loads, and products that take less time than copies.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:     graph.pad
func.func @kept(%x: tensor<4096x1024xf32>, %w: tensor<1024x4096xf32>, %a: tensor<63x65xf32>, %b: tensor<65x63xf32>)
    -> (tensor<4096x4096xf32>, tensor<63x63xf32>) {
  %y = graph.matmul %x, %w : (tensor<4096x1024xf32>, tensor<1024x4096xf32>) -> tensor<4096x4096xf32>
  %c = graph.matmul %a, %b : (tensor<63x65xf32>, tensor<65x63xf32>) -> tensor<63x63xf32>
  func.return %y, %c : tensor<4096x4096xf32>, tensor<63x63xf32>
}
