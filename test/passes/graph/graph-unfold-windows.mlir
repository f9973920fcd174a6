// RUN: tlf-opt %s -p graph-unfold-windows | filecheck %s
// RUN: tlf-opt %s -p graph-unfold-windows,graph-unfold-windows | filecheck %s

// A convolution is a contraction of its unfolded images.
// CHECK-LABEL: func.func @conv2d
// CHECK-NEXT:    [[SEEN:%.*]] = graph.unfold %x map affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, {{.*}}d4 * 2{{.*}}d2{{.*}}, {{.*}}d5{{.*}}d3 * 2{{.*}})> fill 0.000000e+00 : (tensor<2x8x9x9xbf16>) -> tensor<2x8x3x3x5x5xbf16>
// CHECK-NEXT:    [[Y:%.*]] = graph.contract [[SEEN]], %w init %c maps [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d5, d6, d2, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>] acc f32 : (tensor<2x8x3x3x5x5xbf16>, tensor<16x8x3x3xbf16>, tensor<2x16x5x5xf32>) -> tensor<2x16x5x5xf32>
// CHECK-NEXT:    func.return [[Y]]
func.func @conv2d(%x: tensor<2x8x9x9xbf16>, %w: tensor<16x8x3x3xbf16>, %c: tensor<2x16x5x5xf32>) -> tensor<2x16x5x5xf32> {
  %y = graph.conv2d %x, %w init %c strides [2, 1] padding [1, 0, 1, 0] dilation [1, 2] acc f32 : (tensor<2x8x9x9xbf16>, tensor<16x8x3x3xbf16>, tensor<2x16x5x5xf32>) -> tensor<2x16x5x5xf32>
  func.return %y : tensor<2x16x5x5xf32>
}

// One of 1x1 filters contracts the images themselves.
// CHECK-LABEL: func.func @point
// CHECK-NEXT:    [[W:%.*]] = graph.reshape %w : (tensor<16x8x1x1xf32>) -> tensor<16x8xf32>
// CHECK-NEXT:    graph.contract %x, [[W]] maps [affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>] precision "tf32"
// CHECK-NEXT:    func.return
func.func @point(%x: tensor<2x8x9x9xf32>, %w: tensor<16x8x1x1xf32>) -> tensor<2x16x9x9xf32> {
  %y = graph.conv2d %x, %w precision "tf32" : (tensor<2x8x9x9xf32>, tensor<16x8x1x1xf32>) -> tensor<2x16x9x9xf32>
  func.return %y : tensor<2x16x9x9xf32>
}

// Groups are an axis of their own.
// CHECK-LABEL: func.func @groups
// CHECK-NEXT:    [[SEEN:%.*]] = graph.unfold %x {{.*}} -> tensor<1x4x2x3x3x7x7xf32>
// CHECK-NEXT:    [[W:%.*]] = graph.reshape %w : (tensor<12x2x3x3xf32>) -> tensor<4x3x2x3x3xf32>
// CHECK-NEXT:    [[Y:%.*]] = graph.contract [[SEEN]], [[W]] {{.*}} -> tensor<1x4x3x7x7xf32>
// CHECK-NEXT:    graph.reshape [[Y]] : (tensor<1x4x3x7x7xf32>) -> tensor<1x12x7x7xf32>
func.func @groups(%x: tensor<1x8x9x9xf32>, %w: tensor<12x2x3x3xf32>) -> tensor<1x12x7x7xf32> {
  %y = graph.conv2d %x, %w groups 4 : (tensor<1x8x9x9xf32>, tensor<12x2x3x3xf32>) -> tensor<1x12x7x7xf32>
  func.return %y : tensor<1x12x7x7xf32>
}

// Pooling reduces windows; what lies outside is neutral.
// CHECK-LABEL: func.func @pools
// CHECK-NEXT:    [[SEEN:%.*]] = graph.unfold %x {{.*}} fill -inf : (tensor<1x8x9x9xf16>) -> tensor<1x8x3x3x5x5xf16>
// CHECK-NEXT:    graph.reduce [[SEEN]] <max> axes [2, 3] : (tensor<1x8x3x3x5x5xf16>) -> tensor<1x8x5x5xf16>
// CHECK-NEXT:    [[SEEN:%.*]] = graph.unfold %x {{.*}} fill 0.000000e+00
// CHECK-NEXT:    graph.reduce [[SEEN]] <sum> axes [2, 3] acc f32 : (tensor<1x8x2x1x8x9xf16>) -> tensor<1x8x8x9xf32>
func.func @pools(%x: tensor<1x8x9x9xf16>) -> (tensor<1x8x5x5xf16>, tensor<1x8x8x9xf32>) {
  %0 = graph.max_pool2d %x kernel [3, 3] strides [2, 2] padding [1, 1, 1, 1] : (tensor<1x8x9x9xf16>) -> tensor<1x8x5x5xf16>
  %1 = graph.sum_pool2d %x kernel [2, 1] acc f32 : (tensor<1x8x9x9xf16>) -> tensor<1x8x8x9xf32>
  func.return %0, %1 : tensor<1x8x5x5xf16>, tensor<1x8x8x9xf32>
}

// A plan counts the iterators of its group's operations, so they stay; without one, not.
// CHECK-LABEL: func.func @planned
// CHECK:         graph.max_pool2d
// CHECK:         graph.yield
// CHECK-NOT:     graph.max_pool2d
func.func @planned(%x: tensor<1x8x9x9xf16>) -> tensor<1x8x5x5xf16> {
  %0 = graph.group ins(%a = %x : tensor<1x8x9x9xf16>) plan #graph.plan<L1, tile [1, 8, 7, 7]> -> (tensor<1x8x7x7xf16>) {
    %1 = graph.max_pool2d %a kernel [3, 3] : (tensor<1x8x9x9xf16>) -> tensor<1x8x7x7xf16>
    graph.yield %1 : tensor<1x8x7x7xf16>
  }
  %2 = graph.group ins(%a = %0 : tensor<1x8x7x7xf16>) -> (tensor<1x8x5x5xf16>) {
    %3 = graph.max_pool2d %a kernel [3, 3] : (tensor<1x8x7x7xf16>) -> tensor<1x8x5x5xf16>
    graph.yield %3 : tensor<1x8x5x5xf16>
  }
  func.return %2 : tensor<1x8x5x5xf16>
}
