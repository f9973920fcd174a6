// RUN: tlf-opt %s --target h200 -p "graph-decompose,tidy,graph-expose-cascaded-reductions,tidy" --split-input-file | filecheck %s
// RUN: tlf-opt %s --target h200 -p "graph-decompose,tidy,graph-expose-cascaded-reductions,tidy,graph-hoist-scales,graph-group" --split-input-file | filecheck %s --check-prefix=GROUPS
// RUN: tlf-opt %s -p "graph-decompose,tidy,graph-expose-cascaded-reductions,tidy" --split-input-file | filecheck %s --check-prefix=NOTHING

// What rows are divided by is the same for all that a product sums: it moves behind it,
// and no row has to be written before.
// CHECK-LABEL: func.func @rms
// CHECK-SAME:    #graph.remark<passed "graph-expose-cascaded-reductions" "the terms of matmul are summed one by one"
// CHECK:         [[P:%.*]] = graph.matmul %x, %w
// CHECK:         [[S:%.*]] = graph.mul [[P]]
// GROUPS-LABEL: func.func @rms
// GROUPS:         graph.group {{.*}} -> (tensor<8192x768xbf16>)
// NOTHING-LABEL: func.func @rms
// NOTHING:        graph.mul %x, {{.*}} : (tensor<8192x256xbf16>, tensor<8192x1xbf16>)
// NOTHING:        graph.matmul
func.func @rms(%x: tensor<8192x256xbf16>, %w: tensor<256x768xbf16> {tlf.parameter}) -> tensor<8192x768xbf16> {
  %c = graph.constant dense<0.00390625> : tensor<f32>
  %wide = graph.cast %x : (tensor<8192x256xbf16>) -> tensor<8192x256xf32>
  %squares = graph.mul %wide, %wide : (tensor<8192x256xf32>, tensor<8192x256xf32>) -> tensor<8192x256xf32>
  %sum = graph.reduce %squares <sum> axes [1] keepdims : (tensor<8192x256xf32>) -> tensor<8192x1xf32>
  %mean = graph.mul %sum, %c : (tensor<8192x1xf32>, tensor<f32>) -> tensor<8192x1xf32>
  %root = graph.rsqrt %mean : tensor<8192x1xf32>
  %narrow = graph.cast %root : (tensor<8192x1xf32>) -> tensor<8192x1xbf16>
  %n = graph.mul %x, %narrow : (tensor<8192x256xbf16>, tensor<8192x1xbf16>) -> tensor<8192x256xbf16>
  %y = graph.matmul %n, %w : (tensor<8192x256xbf16>, tensor<256x768xbf16>) -> tensor<8192x768xbf16>
  func.return %y : tensor<8192x768xbf16>
}

// -----

// The difference of two softmaxes is not in memory: each is multiplied in its loop.
// CHECK-LABEL: func.func @difference
// CHECK:         "the terms of matmul are summed one by one"
// CHECK-COUNT-4: graph.matmul
// GROUPS-LABEL: func.func @difference
// GROUPS-COUNT-1: graph.group
// GROUPS-NOT:   graph.group
// NOTHING-LABEL: func.func @difference
// NOTHING-COUNT-3: graph.matmul
// NOTHING-NOT:   graph.matmul
func.func @difference(%q: tensor<64x4096x64xbf16>, %k: tensor<64x64x4096xbf16>, %r: tensor<64x4096x64xbf16>, %l: tensor<64x64x4096xbf16>, %v: tensor<64x4096x64xbf16>, %part: tensor<1xbf16>) -> tensor<64x4096x64xbf16> {
  %s = graph.matmul %q, %k : (tensor<64x4096x64xbf16>, tensor<64x64x4096xbf16>) -> tensor<64x4096x4096xbf16>
  %t = graph.matmul %r, %l : (tensor<64x4096x64xbf16>, tensor<64x64x4096xbf16>) -> tensor<64x4096x4096xbf16>
  %p = graph.softmax %s axis 2 : (tensor<64x4096x4096xbf16>) -> tensor<64x4096x4096xbf16>
  %o = graph.softmax %t axis 2 : (tensor<64x4096x4096xbf16>) -> tensor<64x4096x4096xbf16>
  %m = graph.mul %part, %o : (tensor<1xbf16>, tensor<64x4096x4096xbf16>) -> tensor<64x4096x4096xbf16>
  %d = graph.sub %p, %m : (tensor<64x4096x4096xbf16>, tensor<64x4096x4096xbf16>) -> tensor<64x4096x4096xbf16>
  %y = graph.matmul %d, %v : (tensor<64x4096x4096xbf16>, tensor<64x4096x64xbf16>) -> tensor<64x4096x64xbf16>
  func.return %y : tensor<64x4096x64xbf16>
}

// -----

// One factor that is no sum of anything: nothing would run in one loop that does not.
// CHECK-LABEL: func.func @given
// CHECK-NOT:     graph-expose-cascaded-reductions
// CHECK:         graph.mul %x, %r : (tensor<64x64xf32>, tensor<64x1xf32>)
// CHECK-NEXT:    graph.matmul
// GROUPS-LABEL: func.func @given
// NOTHING-LABEL: func.func @given
func.func @given(%x: tensor<64x64xf32>, %r: tensor<64x1xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %n = graph.mul %x, %r : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
  %y = graph.matmul %n, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %y : tensor<64x64xf32>
}

// -----

// What indices name is summed where it is computed: no score need be in memory.
// CHECK-LABEL: func.func @nll
// CHECK-SAME:    #graph.remark<passed "graph-expose-cascaded-reductions" "gather becomes a masked sum (of elements where their index is the gathered one, else 0)"
// CHECK-NOT:     graph.gather
// CHECK:         graph.reduce {{.*}} <sum> axes [1] keepdims : (tensor<8192x4096xf32>) -> tensor<8192x1xf32>
// GROUPS-LABEL: func.func @nll
// GROUPS-COUNT-1: graph.group
// GROUPS-NOT:   graph.group
// NOTHING-LABEL: func.func @nll
// NOTHING-NOT:    graph-expose-cascaded-reductions
func.func @nll(%x: tensor<8192x256xbf16>, %w: tensor<256x4096xbf16>, %i: tensor<8192x1xi64>) -> tensor<8192x1xf32> {
  %s = graph.matmul %x, %w : (tensor<8192x256xbf16>, tensor<256x4096xbf16>) -> tensor<8192x4096xf32>
  %m = graph.reduce %s <max> axes [1] keepdims : (tensor<8192x4096xf32>) -> tensor<8192x1xf32>
  %d = graph.sub %s, %m : (tensor<8192x4096xf32>, tensor<8192x1xf32>) -> tensor<8192x4096xf32>
  %e = graph.exp %d : tensor<8192x4096xf32>
  %t = graph.reduce %e <sum> axes [1] keepdims : (tensor<8192x4096xf32>) -> tensor<8192x1xf32>
  %l = graph.log %t : tensor<8192x1xf32>
  %p = graph.sub %d, %l : (tensor<8192x4096xf32>, tensor<8192x1xf32>) -> tensor<8192x4096xf32>
  %y = graph.gather %p, %i axis 1 : (tensor<8192x4096xf32>, tensor<8192x1xi64>) -> tensor<8192x1xf32>
  func.return %y : tensor<8192x1xf32>
}

// -----

// Only the product is rewritten, of rows as they are under another shape: their mean and
// variance stay as they were, two numbers of each row. What both of its terms are multiplied
// by is so once, and what is the same at every call is one row.
// CHECK-LABEL: func.func @norm
// CHECK:         [[X:%.*]] = graph.reshape %x : (tensor<8x1024x1024xbf16>) -> tensor<8192x1024xbf16>
// CHECK:         %p = graph.matmul [[X]], {{.*}} -> tensor<8192x4096xf32>
// CHECK:         [[T:%.*]] = graph.add %p, {{.*}} : (tensor<8192x4096xf32>, tensor<8192x4096xf32>)
// CHECK:         [[Q:%.*]] = graph.mul [[T]], {{.*}} : (tensor<8192x4096xf32>, tensor<8192x1xf32>)
// CHECK:         [[C:%.*]] = graph.add {{.*}} -> tensor<1x4096xf32>
// CHECK-NEXT:    graph.add [[Q]], [[C]] : (tensor<8192x4096xf32>, tensor<1x4096xf32>)
// GROUPS-LABEL: func.func @norm
// GROUPS:         graph.group ins(%{{.*}} = %x {{.*}} -> (tensor<8x1024x1xf32>, tensor<8x1024x1xf32>)
// GROUPS:         graph.group {{.*}} -> (tensor<8192x4096xbf16>)
// NOTHING-LABEL: func.func @norm
// NOTHING-NOT:    graph.reshape %x
func.func @norm(%x: tensor<8x1024x1024xbf16>, %g: tensor<1024xbf16> {tlf.parameter}, %b: tensor<1024xbf16> {tlf.parameter},
    %w: tensor<1024x4096xbf16> {tlf.parameter}, %c: tensor<4096xbf16> {tlf.parameter}) -> tensor<8192x4096xbf16> {
  %n = graph.layer_norm %x weight %g bias %b epsilon 1.0e-05 : (tensor<8x1024x1024xbf16>, tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<8x1024x1024xbf16>
  %r = graph.reshape %n : (tensor<8x1024x1024xbf16>) -> tensor<8192x1024xbf16>
  %p = graph.matmul %r, %w : (tensor<8192x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<8192x4096xf32>
  %f = graph.cast %c : (tensor<4096xbf16>) -> tensor<4096xf32>
  %s = graph.add %p, %f : (tensor<8192x4096xf32>, tensor<4096xf32>) -> tensor<8192x4096xf32>
  %y = graph.cast %s : (tensor<8192x4096xf32>) -> tensor<8192x4096xbf16>
  func.return %y : tensor<8192x4096xbf16>
}

// -----

// The mean of rows behind a linear layer is one of what the layer reads.
// CHECK-LABEL: func.func @pooled
// CHECK-SAME:    #graph.remark<passed "graph-expose-cascaded-reductions" "reduce sums the factors of products" at "{{[0-9]+:[0-9]+}}">
// CHECK:         graph.reduce {{.*}} <sum> axes [1] keepdims : (tensor<64x256x512xf32>) -> tensor<64x1x512xf32>
// CHECK:         graph.contract {{.*}} -> tensor<64x1x1024xf32>
// CHECK-NOT:     tensor<64x256x1024x
func.func @pooled(%x: tensor<64x256x512xbf16>, %w: tensor<512x1024xbf16> {tlf.parameter}, %b: tensor<1024xbf16> {tlf.parameter}) -> tensor<64x1024xbf16> {
  %s = graph.matmul %x, %w : (tensor<64x256x512xbf16>, tensor<512x1024xbf16>) -> tensor<64x256x1024xbf16>
  %t = graph.add %s, %b : (tensor<64x256x1024xbf16>, tensor<1024xbf16>) -> tensor<64x256x1024xbf16>
  %y = graph.mean %t axes [1] : (tensor<64x256x1024xbf16>) -> tensor<64x1024xbf16>
  func.return %y : tensor<64x1024xbf16>
}

// -----

// Windows of products of 1x1 filters are products of windows, and what is added counts once for each of
// the sixteen elements.
// CHECK-LABEL: func.func @windows
// CHECK-SAME:    "sum_pool2d sums the factors of products"
// CHECK:         [[M:%.*]] = graph.sum_pool2d {{.*}} kernel [4, 4] strides [4, 4] : (tensor<4x64x32x32xf32>)
// CHECK:         graph.contract [[M]], {{.*}} -> tensor<4x128x8x8xf32>
// NOTHING-LABEL: func.func @windows
// NOTHING:         graph.conv2d {{.*}} -> tensor<4x128x32x32xf32>
// NOTHING:         graph.sum_pool2d {{.*}} : (tensor<4x128x32x32xbf16>)
func.func @windows(%x: tensor<4x64x32x32xbf16>, %w: tensor<128x64x1x1xbf16> {tlf.parameter}, %b: tensor<128x1x1xbf16> {tlf.parameter}) -> tensor<4x128x8x8xbf16> {
  %s = graph.conv2d %x, %w : (tensor<4x64x32x32xbf16>, tensor<128x64x1x1xbf16>) -> tensor<4x128x32x32xbf16>
  %t = graph.add %s, %b : (tensor<4x128x32x32xbf16>, tensor<128x1x1xbf16>) -> tensor<4x128x32x32xbf16>
  %y = graph.avg_pool2d %t kernel [4, 4] strides [4, 4] : (tensor<4x128x32x32xbf16>) -> tensor<4x128x8x8xbf16>
  func.return %y : tensor<4x128x8x8xbf16>
}

// -----

// Products of other types, where results may be rounded otherwise.
// CHECK-LABEL: func.func @relaxed
// CHECK:         graph.reduce {{.*}} <sum> axes [1] keepdims : (tensor<64x256x512xf32>) -> tensor<64x1x512xf32>
// CHECK:         graph.contract {{.*}} -> tensor<64x1x1024xf32>
// NOTHING-LABEL: func.func @relaxed
// NOTHING:         graph.matmul {{.*}} -> tensor<64x256x1024xf32>
module attributes {tlf.numerics = "relaxed"} {
  func.func @relaxed(%x: tensor<64x256x512xf16>, %w: tensor<512x1024xf16> {tlf.parameter}) -> tensor<64x1024xf16> {
    %s = graph.matmul %x, %w : (tensor<64x256x512xf16>, tensor<512x1024xf16>) -> tensor<64x256x1024xf16>
    %y = graph.mean %s axes [1] : (tensor<64x256x1024xf16>) -> tensor<64x1024xf16>
    func.return %y : tensor<64x1024xf16>
  }
}
