// RUN: tlf-opt %s --target h200 -p graph-convert-to-channels-last,tlf-cse,dce | filecheck %s
// RUN: tlf-opt %s --target npu -p graph-convert-to-channels-last,tlf-cse,dce | filecheck %s --check-prefix=NPU

// Only targets whose loads gather windows have matrices of them.
// NPU-NOT: graph.im2col

// Rows of the matrices are pixels and columns channels, as of the transposed filters. A
// returned image is computed with channels first; the precision of the product stays.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    [[X:%.*]] = graph.im2col %x map affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)> basis {{\[\[}}2, 9, 9], [8]] {{.*}} -> tensor<162x8xf32>
// CHECK-NEXT:    [[I:%.*]] = graph.reshape [[X]] : (tensor<162x8xf32>) -> tensor<2x9x9x8xf32>
// CHECK-NEXT:    [[T:%.*]] = graph.transpose %w permutation [0, 2, 3, 1]
// CHECK-NEXT:    [[R:%.*]] = graph.im2col [[I]] map affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, ((d1 + -1) + d3), ((d2 + -1) + d4), d5)> basis {{\[\[}}2, 9, 9], [3, 3, 8]] fill 0.000000e+00 : (tensor<2x9x9x8xf32>) -> tensor<162x72xf32>
// CHECK-NEXT:    [[W:%.*]] = graph.reshape [[T]] : (tensor<16x3x3x8xf32>) -> tensor<16x72xf32>
// CHECK-NEXT:    [[C:%.*]] = graph.contract [[R]], [[W]] maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>] acc f32 precision "tf32" : (tensor<162x72xf32>, tensor<16x72xf32>) -> tensor<162x16xf32>
// CHECK-NEXT:    [[B:%.*]] = graph.reshape %b : (tensor<16x1x1xf32>) -> tensor<16xf32>
// CHECK-NEXT:    [[S:%.*]] = graph.add [[C]], [[B]] : (tensor<162x16xf32>, tensor<16xf32>)
// CHECK:         [[I:%.*]] = graph.reshape %x : (tensor<2x8x9x9xf32>) -> tensor<2x8x81xf32>
// CHECK-NEXT:    [[V:%.*]] = graph.reshape {{%.*}} : (tensor<162x16xf32>) -> tensor<2x81x16xf32>
// CHECK-NEXT:    [[P:%.*]] = graph.contract [[V]], {{%.*}} init [[I]] maps [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>] acc f32 : (tensor<2x81x16xf32>, tensor<8x16xf32>, tensor<2x8x81xf32>) -> tensor<2x8x81xf32>
// CHECK-NEXT:    %y = graph.reshape [[P]] : (tensor<2x8x81xf32>) -> tensor<2x8x9x9xf32>
// CHECK-NEXT:    func.return %y
func.func @chain(%x: tensor<2x8x9x9xf32>, %w: tensor<16x8x3x3xf32>, %b: tensor<16x1x1xf32>, %v: tensor<8x16x1x1xf32>) -> tensor<2x8x9x9xf32> {
  %0 = graph.conv2d %x, %w padding [1, 1, 1, 1] precision "tf32" : (tensor<2x8x9x9xf32>, tensor<16x8x3x3xf32>) -> tensor<2x16x9x9xf32>
  %1 = graph.add %0, %b : (tensor<2x16x9x9xf32>, tensor<16x1x1xf32>) -> tensor<2x16x9x9xf32>
  %y = graph.conv2d %1, %v init %x : (tensor<2x16x9x9xf32>, tensor<8x16x1x1xf32>, tensor<2x8x9x9xf32>) -> tensor<2x8x9x9xf32>
  func.return %y : tensor<2x8x9x9xf32>
}

// Pixels of less than 16 bytes are packed with their rows, and channels are added that
// filters ignore, so that rows of windows are contiguous.
// CHECK-LABEL: func.func @stem
// CHECK-NEXT:    [[X:%.*]] = graph.im2col %x map affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)> basis {{\[\[}}1], [9], [9, 4]] {{.*}} -> tensor<1x9x36xf32>
// CHECK-NEXT:    [[T:%.*]] = graph.transpose %w permutation [0, 2, 3, 1]
// CHECK-NEXT:    [[P:%.*]] = graph.pad [[T]] low [0, 0, 0, 0] high [0, 0, 0, 1]
// CHECK-NEXT:    [[W:%.*]] = graph.reshape [[P]] : (tensor<8x3x3x4xf32>) -> tensor<8x36xf32>
// CHECK-NEXT:    [[R:%.*]] = graph.im2col [[X]] map affine_map<(d0, d1, d2, d3, d4) -> (d0, ((d1 * 2) + d3), ((d2 * 8) + d4))> basis {{\[\[}}1], [4, 4], [3, 12]]
// CHECK-NEXT:    graph.contract [[R]], [[W]]
func.func @stem(%x: tensor<1x3x9x9xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<1x8x4x4xf32> {
  %y = graph.conv2d %x, %w strides [2, 2] : (tensor<1x3x9x9xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x4x4xf32>
  func.return %y : tensor<1x8x4x4xf32>
}

// Two channels in f16 are too few: they are read as they are, with the taps after them.
// CHECK-LABEL: func.func @narrow
// CHECK-NEXT:    [[W:%.*]] = graph.reshape %w : (tensor<8x2x3x3xf16>) -> tensor<8x18xf16>
// CHECK-NEXT:    [[R:%.*]] = graph.im2col %x map affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, (d1 + d4), (d2 + d5))> basis {{\[\[}}1], [7, 7], [2, 3, 3]]
// CHECK-NEXT:    graph.contract [[R]], [[W]]
func.func @narrow(%x: tensor<1x2x9x9xf16>, %w: tensor<8x2x3x3xf16>) -> tensor<1x8x7x7xf32> {
  %y = graph.conv2d %x, %w : (tensor<1x2x9x9xf16>, tensor<8x2x3x3xf16>) -> tensor<1x8x7x7xf32>
  func.return %y : tensor<1x8x7x7xf32>
}

// Filters of one channel are a sum over taps, in the accumulator and rounded once. An
// image with channels first stays so.
// CHECK-LABEL: func.func @depthwise
// CHECK-NEXT:    [[R:%.*]] = graph.im2col %x {{.*}} basis {{\[\[}}1], [8, 2], [3, 3], [7, 7]] {{.*}} -> tensor<1x16x9x49xbf16>
// CHECK-NEXT:    [[W:%.*]] = graph.reshape %w : (tensor<16x1x3x3xbf16>) -> tensor<16x9x1xbf16>
// CHECK-NEXT:    [[A:%.*]] = graph.cast [[R]]
// CHECK-NEXT:    [[B:%.*]] = graph.cast [[W]]
// CHECK-NEXT:    [[M:%.*]] = graph.mul [[A]], [[B]] : (tensor<1x16x9x49xf32>, tensor<16x9x1xf32>)
// CHECK-NEXT:    [[S:%.*]] = graph.reduce [[M]] <sum> axes [2] acc f32 : (tensor<1x16x9x49xf32>) -> tensor<1x16x49xf32>
// CHECK-NEXT:    [[C:%.*]] = graph.cast [[S]] : (tensor<1x16x49xf32>) -> tensor<1x16x49xbf16>
// CHECK-NEXT:    graph.reshape [[C]] : (tensor<1x16x49xbf16>) -> tensor<1x16x7x7xbf16>
func.func @depthwise(%x: tensor<1x8x9x9xbf16>, %w: tensor<16x1x3x3xbf16>) -> tensor<1x16x7x7xbf16> {
  %y = graph.conv2d %x, %w groups 8 : (tensor<1x8x9x9xbf16>, tensor<16x1x3x3xbf16>) -> tensor<1x16x7x7xbf16>
  func.return %y : tensor<1x16x7x7xbf16>
}

// Groups of channels are a batch of matrices.
// CHECK-LABEL: func.func @groups
// CHECK:         [[R:%.*]] = graph.im2col {{.*}} -> (d1, (d2 + d4), (d3 + d5), ((d0 * 4) + d6))> basis {{\[\[}}2], [1, 7, 7], [3, 3, 4]] {{.*}} -> tensor<2x49x36xf32>
// CHECK-NEXT:    [[W:%.*]] = graph.reshape {{.*}} -> tensor<2x3x36xf32>
// CHECK-NEXT:    graph.contract [[R]], [[W]] maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d0, d2)>] {{.*}} -> tensor<49x2x3xf32>
func.func @groups(%x: tensor<1x8x9x9xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<1x6x7x7xf32> {
  %y = graph.conv2d %x, %w groups 2 : (tensor<1x8x9x9xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x7x7xf32>
  func.return %y : tensor<1x6x7x7xf32>
}

// What else is computed from images reads and writes their matrices, too.
// CHECK-LABEL: func.func @images
// CHECK:         [[C:%.*]] = graph.contract
// CHECK-NEXT:    [[I:%.*]] = graph.reshape [[C]] : (tensor<24x8xf32>) -> tensor<1x4x6x8xf32>
// CHECK-NEXT:    [[P:%.*]] = graph.im2col [[I]] {{.*}} basis {{\[\[}}1, 2, 3], [2, 2], [8]] fill -inf
// CHECK-NEXT:    graph.reduce [[P]] <max> axes [1]
// CHECK:         [[S:%.*]] = graph.reduce [[I]] <sum> axes [1, 2]
// CHECK-NEXT:    %sum = graph.reshape [[S]] : (tensor<1x8xf32>) -> tensor<1x8x1x1xf32>
// CHECK-NEXT:    [[Z:%.*]] = graph.im2col %z map affine_map<(d0, d1, d2, d3) -> (0, d3, d1, d2)>
// CHECK-NEXT:    graph.concat [[C]], [[Z]] axis 1 : (tensor<24x8xf32>, tensor<24x8xf32>) -> tensor<24x16xf32>
// CHECK:         [[F:%.*]] = graph.reshape [[C]] : (tensor<24x8xf32>) -> tensor<1x4x6x2x2x2xf32>
// CHECK-NEXT:    graph.im2col [[F]] map affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d5, d2, d4)> basis {{\[\[}}1, 4, 2, 6, 2], [2]]
// CHECK:         graph.im2col [[I]] map affine_map<(d0, d1, d2, d3) -> (d0, d1, (d2 + -1), d3)> basis {{\[\[}}1, 4, 8], [8]] fill 7.000000e+00
func.func @images(%x: tensor<1x8x4x6xf32>, %w: tensor<8x8x1x1xf32>, %z: tensor<1x8x4x6xf32>) -> (tensor<1x8x2x3xf32>, tensor<1x8x1x1xf32>, tensor<1x16x4x6xf32>, tensor<1x2x8x12xf32>, tensor<1x8x4x8xf32>) {
  %0 = graph.conv2d %x, %w : (tensor<1x8x4x6xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x4x6xf32>
  %pool = graph.max_pool2d %0 kernel [2, 2] strides [2, 2] : (tensor<1x8x4x6xf32>) -> tensor<1x8x2x3xf32>
  %sum = graph.reduce %0 <sum> axes [2, 3] keepdims : (tensor<1x8x4x6xf32>) -> tensor<1x8x1x1xf32>
  %both = graph.concat %0, %z axis 1 : (tensor<1x8x4x6xf32>, tensor<1x8x4x6xf32>) -> tensor<1x16x4x6xf32>
  %split = graph.reshape %0 : (tensor<1x8x4x6xf32>) -> tensor<1x2x2x2x4x6xf32>
  %moved = graph.transpose %split permutation [0, 1, 4, 2, 5, 3] : (tensor<1x2x2x2x4x6xf32>) -> tensor<1x2x4x2x6x2xf32>
  %shuffled = graph.reshape %moved : (tensor<1x2x4x2x6x2xf32>) -> tensor<1x2x8x12xf32>
  %padded = graph.pad %0 low [0, 0, 0, 1] high [0, 0, 0, 1] fill 7.0 : (tensor<1x8x4x6xf32>) -> tensor<1x8x4x8xf32>
  func.return %pool, %sum, %both, %shuffled, %padded : tensor<1x8x2x3xf32>, tensor<1x8x1x1xf32>, tensor<1x16x4x6xf32>, tensor<1x2x8x12xf32>, tensor<1x8x4x8xf32>
}

// Poolings of images with channels first read them so.
// CHECK-LABEL: func.func @pools
// CHECK-NEXT:    [[U:%.*]] = graph.im2col %x {{.*}} basis {{\[\[}}1], [8], [2, 2, 2], [2, 3, 1]] fill -inf
// CHECK-NEXT:    graph.reduce [[U]] <max> axes [2] : (tensor<1x8x8x6xf32>) -> tensor<1x8x6xf32>
// CHECK:         [[U:%.*]] = graph.im2col %z {{.*}} basis {{\[\[}}1], [8], [2, 2], [2, 3]] fill -inf
// CHECK-NEXT:    graph.reduce [[U]] <max> axes [2]
func.func @pools(%x: tensor<1x8x4x6x2xf32>, %z: tensor<1x8x4x6xf32>) -> (tensor<1x8x2x3x1xf32>, tensor<1x8x2x3xf32>) {
  %0 = graph.max_pool3d %x kernel [2, 2, 2] strides [2, 2, 2] : (tensor<1x8x4x6x2xf32>) -> tensor<1x8x2x3x1xf32>
  %1 = graph.max_pool2d %z kernel [2, 2] strides [2, 2] : (tensor<1x8x4x6xf32>) -> tensor<1x8x2x3xf32>
  func.return %0, %1 : tensor<1x8x2x3x1xf32>, tensor<1x8x2x3xf32>
}

// Maxima of 16-bit floats are rounded once.
// CHECK-LABEL: func.func @narrow_pool
// CHECK:         [[M:%.*]] = graph.reduce {{.*}} <max> axes [2] acc f32 : (tensor<1x8x4x6xbf16>) -> tensor<1x8x6xf32>
// CHECK-NEXT:    graph.cast [[M]] : (tensor<1x8x6xf32>) -> tensor<1x8x6xbf16>
func.func @narrow_pool(%x: tensor<1x8x4x6xbf16>) -> tensor<1x8x2x3xbf16> {
  %0 = graph.max_pool2d %x kernel [2, 2] strides [2, 2] : (tensor<1x8x4x6xbf16>) -> tensor<1x8x2x3xbf16>
  func.return %0 : tensor<1x8x2x3xbf16>
}

// An image that is a transpose of channels last is read where it lies.
// CHECK-LABEL: func.func @transposed
// CHECK-NEXT:    [[R:%.*]] = graph.reshape %x : (tensor<1x9x9x8xf32>) -> tensor<81x8xf32>
// CHECK-NEXT:    [[X:%.*]] = graph.reshape [[R]] : (tensor<81x8xf32>) -> tensor<1x9x9x8xf32>
// CHECK:         graph.im2col [[X]] map
func.func @transposed(%x: tensor<1x9x9x8xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<1x8x7x7xf32> {
  %0 = graph.transpose %x permutation [0, 3, 1, 2] : (tensor<1x9x9x8xf32>) -> tensor<1x8x9x9xf32>
  %y = graph.conv2d %0, %w : (tensor<1x8x9x9xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return %y : tensor<1x8x7x7xf32>
}
