// RUN: tlf-opt %s --split-input-file --target h200 -p triton-pipeline -t "triton{parts=source}" | filecheck %s

// A convolution with channels last is one loop over the columns of windows. Digits of
// columns are scalars, since the tiles divide the number of channels.
// CHECK:      def conv_0(p0, p1, p2):
// CHECK:        for k0 in tl.range(0, 576, 64, num_stages=4):
// CHECK:          i1 = k0 // 192
// CHECK-NEXT:     i2 = (k0 // 64) % 3
// CHECK:          v1 = tl.load(p0 + (i1 * 896 + i2 * 64 - 960) + r6[:, None] + r1[None, :], mask=(r2 < 784)[:, None] & (r7 >= 0)[:, None] & (r7 < 14)[:, None] & (r8 >= 0)[:, None] & (r8 < 14)[:, None], other=0.0)
// CHECK:          v2 = tl.load(p1 + r1[:, None] * 576 + r9[None, :])
// CHECK-NEXT:     v3 = tl.trans(v2, (1, 0))
// CHECK-NEXT:     v4 = tl.dot(v1, v3, acc=c0, input_precision="ieee")
// CHECK-NOT:    for
// CHECK:        tl.store(p2 + r10[:, None] * 64 + r11[None, :], v5, mask=(r10 < 784)[:, None])
func.func @conv(%x: tensor<4x14x14x64xbf16>, %w: tensor<64x576xbf16>) -> tensor<784x64xbf16> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<4x14x14x64xbf16>, tensor<64x576xbf16>)
      plan #graph.plan<L1, tile [128, 64], reduce [64], mapping grid, stages 4> -> (tensor<784x64xbf16>) {
    %u = graph.im2col %a map affine_map<(n, h, w, r, s, c) -> (n, h + r - 1, w + s - 1, c)> basis [[4, 14, 14], [3, 3, 64]] fill 0.0
        : (tensor<4x14x14x64xbf16>) -> tensor<784x576xbf16>
    %p = graph.contract %u, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] acc f32
        : (tensor<784x576xbf16>, tensor<64x576xbf16>) -> tensor<784x64xf32>
    %r = graph.cast %p : (tensor<784x64xf32>) -> tensor<784x64xbf16>
    graph.yield %r : tensor<784x64xbf16>
  }
  func.return %y : tensor<784x64xbf16>
}

// -----

// The loop over the taps of a depthwise one is unrolled, and has no stages.
// CHECK:      def depthwise_0(p0, p1, p2):
// CHECK:        for k0 in tl.static_range(0, 9, 1):
// CHECK:          i1 = k0 // 3
// CHECK-NEXT:     i2 = k0 % 3
// CHECK:          v1 = tl.load(p0 + (i1 * 896 + i2 * 64 - 960) +
// CHECK:          v2 = tl.load(p1 + k0 * 64 + r1)
// CHECK-NOT:      tl.sum
// CHECK:        tl.store(p2
func.func @depthwise(%x: tensor<4x14x14x64xbf16>, %w: tensor<9x64xbf16>) -> tensor<784x64xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<4x14x14x64xbf16>, tensor<9x64xbf16>)
      plan #graph.plan<L1, tile [32, 64], reduce [1], mapping grid, stages 3> -> (tensor<784x64xf32>) {
    %u = graph.im2col %a map affine_map<(n, h, w, r, s, c) -> (n, h + r - 1, w + s - 1, c)> basis [[4, 14, 14], [3, 3], [64]] fill 0.0
        : (tensor<4x14x14x64xbf16>) -> tensor<784x9x64xbf16>
    %d = graph.cast %u : (tensor<784x9x64xbf16>) -> tensor<784x9x64xf32>
    %e = graph.cast %b : (tensor<9x64xbf16>) -> tensor<9x64xf32>
    %m = graph.mul %d, %e : (tensor<784x9x64xf32>, tensor<9x64xf32>) -> tensor<784x9x64xf32>
    %s = graph.reduce %m <sum> axes [1] : (tensor<784x9x64xf32>) -> tensor<784x64xf32>
    graph.yield %s : tensor<784x64xf32>
  }
  func.return %y : tensor<784x64xf32>
}

// -----

// Loops of more than 32 iterations, or over several elements at once, stay loops.
// CHECK:      def long_0(p0, p1):
// CHECK:        for k0 in tl.range(0, 40, 1):
func.func @long(%x: tensor<64x40xf32>) -> tensor<64xf32> {
  %y = graph.group ins(%a = %x : tensor<64x40xf32>) plan #graph.plan<L1, tile [32], reduce [1], mapping grid> -> (tensor<64xf32>) {
    %s = graph.reduce %a <sum> axes [1] : (tensor<64x40xf32>) -> tensor<64xf32>
    graph.yield %s : tensor<64xf32>
  }
  func.return %y : tensor<64xf32>
}

// -----

// CHECK:      def pairs_0(p0, p1):
// CHECK:        for k0 in tl.range(0, 32, 2):
func.func @pairs(%x: tensor<64x32xf32>) -> tensor<64xf32> {
  %y = graph.group ins(%a = %x : tensor<64x32xf32>) plan #graph.plan<L1, tile [32], reduce [2], mapping grid> -> (tensor<64xf32>) {
    %s = graph.reduce %a <sum> axes [1] : (tensor<64x32xf32>) -> tensor<64xf32>
    graph.yield %s : tensor<64xf32>
  }
  func.return %y : tensor<64xf32>
}
