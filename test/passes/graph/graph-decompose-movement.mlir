// RUN: tlf-opt %s -p graph-decompose | filecheck %s

// Joined tensors are the maximum of tensors padded with what is less than everything.
// CHECK-LABEL: func.func @concat
// CHECK-NEXT:    [[A:%.*]] = graph.pad %a low [0, 0] high [0, 3] fill -inf : (tensor<4x2xbf16>) -> tensor<4x5xbf16>
// CHECK-NEXT:    [[B:%.*]] = graph.pad %b low [0, 2] high [0, 0] fill -inf : (tensor<4x3xbf16>) -> tensor<4x5xbf16>
// CHECK-NEXT:    graph.maximum [[A]], [[B]] : (tensor<4x5xbf16>, tensor<4x5xbf16>) -> tensor<4x5xbf16>
func.func @concat(%a: tensor<4x2xbf16>, %b: tensor<4x3xbf16>) -> tensor<4x5xbf16> {
  %y = graph.concat %a, %b axis 1 : (tensor<4x2xbf16>, tensor<4x3xbf16>) -> tensor<4x5xbf16>
  func.return %y : tensor<4x5xbf16>
}

// CHECK-LABEL: func.func @concat_of_integers
// CHECK-NEXT:    graph.pad %a low [0] high [2] fill -2147483648
// CHECK:         graph.pad %c low [0] high [1] fill false
func.func @concat_of_integers(%a: tensor<2xi32>, %c: tensor<1xi1>) -> (tensor<4xi32>, tensor<2xi1>) {
  %y = graph.concat %a, %a axis 0 : (tensor<2xi32>, tensor<2xi32>) -> tensor<4xi32>
  %z = graph.concat %c, %c axis 0 : (tensor<1xi1>, tensor<1xi1>) -> tensor<2xi1>
  func.return %y, %z : tensor<4xi32>, tensor<2xi1>
}

// Indices are a constant of one axis.
// CHECK-LABEL: func.func @iota
// CHECK-NEXT:    [[ROWS:%.*]] = graph.constant dense<{{\[\[}}0], [1], [2]]> : tensor<3x1xi32>
// CHECK-NEXT:    [[ALL:%.*]] = graph.broadcast [[ROWS]] : (tensor<3x1xi32>) -> tensor<2x3x2xi32>
// CHECK-NEXT:    [[LINE:%.*]] = graph.constant dense<[0.000000e+00, 1.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    func.return [[ALL]], [[LINE]]
func.func @iota() -> (tensor<2x3x2xi32>, tensor<2xf32>) {
  %0 = graph.iota axis 1 : tensor<2x3x2xi32>
  %1 = graph.iota axis 0 : tensor<2xf32>
  func.return %0, %1 : tensor<2x3x2xi32>, tensor<2xf32>
}

// A mean of windows is their sum, multiplied by a number where all have equally many.
// CHECK-LABEL: func.func @avg_pool2d
// CHECK-NEXT:    [[SUM:%.*]] = graph.sum_pool2d %x kernel [2, 2] strides [2, 2] : (tensor<1x2x4x4xf16>) -> tensor<1x2x2x2xf32>
// CHECK-NEXT:    [[PART:%.*]] = graph.constant dense<2.500000e-01> : tensor<f32>
// CHECK-NEXT:    [[MEAN:%.*]] = graph.mul [[SUM]], [[PART]]
// CHECK-NEXT:    graph.cast [[MEAN]]
func.func @avg_pool2d(%x: tensor<1x2x4x4xf16>) -> tensor<1x2x2x2xf16> {
  %y = graph.avg_pool2d %x kernel [2, 2] strides [2, 2] : (tensor<1x2x4x4xf16>) -> tensor<1x2x2x2xf16>
  func.return %y : tensor<1x2x2x2xf16>
}

// CHECK-LABEL: func.func @counts
// CHECK:         [[COUNTS:%.*]] = graph.constant dense<{{\[\[}}4.000000e+00, 6.000000e+00], [6.000000e+00, 9.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT:    graph.div {{.*}}, [[COUNTS]] : (tensor<1x2x2x2xf32>, tensor<2x2xf32>) -> tensor<1x2x2x2xf32>
func.func @counts(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %y = graph.avg_pool2d %x kernel [3, 3] strides [2, 2] padding [1, 1, 0, 0] exclude_padding : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  func.return %y : tensor<1x2x2x2xf32>
}

// CHECK-LABEL: func.func @avg_pool3d
// CHECK-NEXT:    [[SEEN:%.*]] = graph.unfold %x {{.*}} fill 0.000000e+00 : (tensor<1x2x4x4x4xf16>) -> tensor<1x2x2x1x2x2x4x2xf16>
// CHECK-NEXT:    [[SUM:%.*]] = graph.reduce [[SEEN]] <sum> axes [2, 3, 4] : {{.*}} -> tensor<1x2x2x4x2xf32>
// CHECK-NEXT:    [[PART:%.*]] = graph.constant dense<2.500000e-01> : tensor<f32>
// CHECK-NEXT:    [[MEAN:%.*]] = graph.mul [[SUM]], [[PART]]
// CHECK-NEXT:    graph.cast [[MEAN]]
func.func @avg_pool3d(%x: tensor<1x2x4x4x4xf16>) -> tensor<1x2x2x4x2xf16> {
  %y = graph.avg_pool3d %x kernel [2, 1, 2] strides [2, 1, 2] : (tensor<1x2x4x4x4xf16>) -> tensor<1x2x2x4x2xf16>
  func.return %y : tensor<1x2x2x4x2xf16>
}

// CHECK-LABEL: func.func @max_pool3d
// CHECK-NEXT:    [[SEEN:%.*]] = graph.unfold %x {{.*}} fill -128 : (tensor<1x2x4x4x4xi8>) -> tensor<1x2x2x1x2x4x4x3xi8>
// CHECK-NEXT:    graph.reduce [[SEEN]] <max> axes [2, 3, 4]
func.func @max_pool3d(%x: tensor<1x2x4x4x4xi8>) -> tensor<1x2x4x4x3xi8> {
  %y = graph.max_pool3d %x kernel [2, 1, 2] padding [1, 0, 0, 0, 0, 0] : (tensor<1x2x4x4x4xi8>) -> tensor<1x2x4x4x3xi8>
  func.return %y : tensor<1x2x4x4x3xi8>
}

// A convolution of volumes is a contraction of their windows.
// CHECK-LABEL: func.func @conv3d
// CHECK-NEXT:    [[SEEN:%.*]] = graph.unfold %x map {{.*}} fill 0.000000e+00 : (tensor<1x8x5x9x9xbf16>) -> tensor<1x2x4x3x3x3x3x5x7xbf16>
// CHECK-NEXT:    [[W:%.*]] = graph.reshape %w : (tensor<6x4x3x3x3xbf16>) -> tensor<2x3x4x3x3x3xbf16>
// CHECK-NEXT:    [[SUM:%.*]] = graph.contract [[SEEN]], [[W]] {{.*}} acc f32 precision "tf32" : {{.*}} -> tensor<1x2x3x3x5x7xf32>
// CHECK-NEXT:    [[Y:%.*]] = graph.cast [[SUM]]
// CHECK-NEXT:    graph.reshape [[Y]] : (tensor<1x2x3x3x5x7xbf16>) -> tensor<1x6x3x5x7xbf16>
func.func @conv3d(%x: tensor<1x8x5x9x9xbf16>, %w: tensor<6x4x3x3x3xbf16>) -> tensor<1x6x3x5x7xbf16> {
  %y = graph.conv3d %x, %w strides [1, 2, 1] padding [0, 1, 0, 0, 1, 0] groups 2 acc f32 precision "tf32" : (tensor<1x8x5x9x9xbf16>, tensor<6x4x3x3x3xbf16>) -> tensor<1x6x3x5x7xbf16>
  func.return %y : tensor<1x6x3x5x7xbf16>
}
