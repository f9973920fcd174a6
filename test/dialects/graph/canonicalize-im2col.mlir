// RUN: tlf-opt %s -p canonicalize | filecheck %s

// All elements in row-major order are a reshape, or the operand itself.
// CHECK-LABEL: func.func @pixels
// CHECK-NEXT:    %[[Y:.*]] = graph.reshape %x : (tensor<2x6x1x8xf32>) -> tensor<12x8xf32>
// CHECK-NEXT:    func.return %[[Y]], %w
func.func @pixels(%x: tensor<2x6x1x8xf32>, %w: tensor<3x8xf32>) -> (tensor<12x8xf32>, tensor<3x8xf32>) {
  %y = graph.im2col %x map affine_map<(n, h, w, c) -> (n, h, w, c)> basis [[2, 6, 1], [8]] fill 0.0
      : (tensor<2x6x1x8xf32>) -> tensor<12x8xf32>
  %z = graph.im2col %w map affine_map<(a, b, c) -> (a, 2 * b + c)> basis [[3], [4, 2]] fill 0.0
      : (tensor<3x8xf32>) -> tensor<3x8xf32>
  func.return %y, %z : tensor<12x8xf32>, tensor<3x8xf32>
}

// Other orders, strides, borders and parts are not.
// CHECK-LABEL:    func.func @others
// CHECK-COUNT-4:    graph.im2col
func.func @others(%x: tensor<6x8xf32>) -> (tensor<48xf32>, tensor<24xf32>, tensor<48xf32>, tensor<24xf32>) {
  %0 = graph.im2col %x map affine_map<(c, h) -> (h, c)> basis [[8, 6]] fill 0.0 : (tensor<6x8xf32>) -> tensor<48xf32>
  %1 = graph.im2col %x map affine_map<(h, c) -> (2 * h, c)> basis [[3, 8]] fill 0.0 : (tensor<6x8xf32>) -> tensor<24xf32>
  %2 = graph.im2col %x map affine_map<(h, c) -> (h + 1, c)> basis [[6, 8]] fill 0.0 : (tensor<6x8xf32>) -> tensor<48xf32>
  %3 = graph.im2col %x map affine_map<(h, c) -> (h, c)> basis [[3, 8]] fill 0.0 : (tensor<6x8xf32>) -> tensor<24xf32>
  func.return %0, %1, %2, %3 : tensor<48xf32>, tensor<24xf32>, tensor<48xf32>, tensor<24xf32>
}

// A transpose that keeps the innermost axis is read through, also if it has other users.
// CHECK-LABEL: func.func @batch_inside
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %x permutation [1, 0, 2]
// CHECK-NEXT:    %[[U:.*]] = graph.im2col %x map affine_map<(d0, d1, d2, d3) -> (((d1 + d2) + -1), d0, d3)> basis [[2, 6], [3, 8]] fill 1.500000e+00 {test.hint = "a"} : (tensor<6x2x8xf32>) -> tensor<12x24xf32>
// CHECK-NEXT:    func.return %[[T]], %[[U]]
func.func @batch_inside(%x: tensor<6x2x8xf32>) -> (tensor<2x6x8xf32>, tensor<12x24xf32>) {
  %t = graph.transpose %x permutation [1, 0, 2] : (tensor<6x2x8xf32>) -> tensor<2x6x8xf32>
  %u = graph.im2col %t map affine_map<(n, h, r, c) -> (n, h + r - 1, c)> basis [[2, 6], [3, 8]] fill 1.5 {test.hint = "a"}
      : (tensor<2x6x8xf32>) -> tensor<12x24xf32>
  func.return %t, %u : tensor<2x6x8xf32>, tensor<12x24xf32>
}

// Channels that a transpose makes contiguous stay contiguous.
// CHECK-LABEL: func.func @channels_last
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %x permutation [1, 0]
// CHECK-NEXT:    graph.im2col %[[T]]
func.func @channels_last(%x: tensor<8x6xf32>) -> tensor<6x24xf32> {
  %t = graph.transpose %x permutation [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %u = graph.im2col %t map affine_map<(h, r, c) -> (h + r - 1, c)> basis [[6], [3, 8]] fill 0.0
      : (tensor<6x8xf32>) -> tensor<6x24xf32>
  func.return %u : tensor<6x24xf32>
}

// Windows of a number are the number, unless they contain a border.
// CHECK-LABEL: func.func @ones
// CHECK-NEXT:    %[[C:.*]] = graph.constant
// CHECK-NEXT:    %[[U:.*]] = graph.im2col %[[C]]
// CHECK-NEXT:    %[[P:.*]] = graph.mul %x, %[[U]]
// CHECK-NEXT:    func.return %x, %[[P]]
func.func @ones(%x: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %c = graph.constant dense<1.0> : tensor<6xf32>
  %0 = graph.im2col %c map affine_map<(h, r) -> (h + r)> basis [[4], [3]] fill 0.0 : (tensor<6xf32>) -> tensor<4x3xf32>
  %1 = graph.im2col %c map affine_map<(h, r) -> (h + r - 1)> basis [[4], [3]] fill 0.0 : (tensor<6xf32>) -> tensor<4x3xf32>
  %2 = graph.mul %x, %0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %3 = graph.mul %x, %1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %2, %3 : tensor<4x3xf32>, tensor<4x3xf32>
}

// Indices that are windows of a ramp are no ramp.
// CHECK-LABEL: func.func @places
// CHECK:         graph.im2col
// CHECK-NEXT:    graph.take
func.func @places(%t: tensor<9x4xf32>) -> tensor<12x4xf32> {
  %i = graph.iota axis 0 : tensor<6xi64>
  %n = graph.im2col %i map affine_map<(h, r) -> (h + r)> basis [[4, 3]] fill 0 : (tensor<6xi64>) -> tensor<12xi64>
  %y = graph.take %t, %n axis 0 : (tensor<9x4xf32>, tensor<12xi64>) -> tensor<12x4xf32>
  func.return %y : tensor<12x4xf32>
}

// A reshape splits and merges digits.
// CHECK-LABEL: func.func @parts
// CHECK-NEXT:    %[[Y:.*]] = graph.im2col %x map affine_map<(d0, d1, d2, d3, d4) -> ((((d0 * 2) + d1) + d2), ((d3 * 4) + d4))> basis {{\[\[}}2], [2], [3, 2], [4{{\]\]}} fill 0.000000e+00 : (tensor<6x8xf32>) -> tensor<2x2x6x4xf32>
// CHECK-NEXT:    func.return %[[Y]]
func.func @parts(%x: tensor<6x8xf32>) -> tensor<2x2x6x4xf32> {
  %u = graph.im2col %x map affine_map<(h, r, c) -> (h + r, c)> basis [[4], [3, 8]] fill 0.0 : (tensor<6x8xf32>) -> tensor<4x24xf32>
  %y = graph.reshape %u : (tensor<4x24xf32>) -> tensor<2x2x6x4xf32>
  func.return %y : tensor<2x2x6x4xf32>
}

// A digit that spreads unevenly stays, and a gather with other users.
// CHECK-LABEL: func.func @no_parts
// CHECK-NEXT:    graph.im2col
// CHECK-NEXT:    graph.reshape
// CHECK-NEXT:    graph.im2col
// CHECK-NEXT:    graph.reshape
func.func @no_parts(%x: tensor<6x8xf32>) -> (tensor<4x2x12xf32>, tensor<4x24xf32>, tensor<96xf32>) {
  %u = graph.im2col %x map affine_map<(h, r, c) -> (h + r, c)> basis [[4], [3, 8]] fill 0.0 : (tensor<6x8xf32>) -> tensor<4x24xf32>
  %y = graph.reshape %u : (tensor<4x24xf32>) -> tensor<4x2x12xf32>
  %v = graph.im2col %x map affine_map<(h, r, c) -> (h + r, c)> basis [[4], [3, 8]] fill 1.0 : (tensor<6x8xf32>) -> tensor<4x24xf32>
  %z = graph.reshape %v : (tensor<4x24xf32>) -> tensor<96xf32>
  func.return %y, %v, %z : tensor<4x2x12xf32>, tensor<4x24xf32>, tensor<96xf32>
}

// One digit takes the place of several at equal distances, and none that of a unit digit.
// CHECK-LABEL: func.func @digits
// CHECK-NEXT:    graph.im2col %x map affine_map<(d0, d1, d2) -> (0, (d0 + d1), d2)> basis {{\[\[}}4], [3, 8{{\]\]}} fill 0.000000e+00 {test.hint = "a"}
func.func @digits(%x: tensor<1x6x8xf32>) -> tensor<4x24xf32> {
  %u = graph.im2col %x map affine_map<(n, h, r, b, c) -> (n, h + r, 2 * b + c)> basis [[1, 4], [3, 4, 2]] fill 0.0 {test.hint = "a"}
      : (tensor<1x6x8xf32>) -> tensor<4x24xf32>
  func.return %u : tensor<4x24xf32>
}
