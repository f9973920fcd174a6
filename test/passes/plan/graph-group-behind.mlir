// RUN: tlf-opt %s --target h200 -p "graph-pipeline,graph-group,graph-select-tile-sizes" | filecheck %s
// RUN: tlf-opt %s --target npu -p "graph-pipeline,graph-group{level=L1},graph-select-tile-sizes{level=L1}" | filecheck %s

// The longest loop is built, here along the keys of an attention. Sums of its results run
// whole behind it.
// CHECK-LABEL: func.func @normalised
// CHECK:       graph.group
// CHECK-SAME:    reduce [{{[0-9]+}}]
// CHECK:         graph.reduce {{.*}} <max> {{.*}}tlf.step = #graph.step<0
// CHECK:         graph.reduce {{.*}} <sum> {{.*}}tlf.step = #graph.step<1
// CHECK:         graph.matmul {{.*}}tlf.step = #graph.step<2
// CHECK-NOT:     {{tlf.step|graph.group}}
// CHECK:         graph.rsqrt
// CHECK-NOT:   graph.group
func.func @normalised(%q: tensor<16x1024x64xbf16>, %k: tensor<16x64x1024xbf16>, %v: tensor<16x1024x64xbf16>) -> tensor<16x1024x64xbf16> {
  %s = graph.matmul %q, %k : (tensor<16x1024x64xbf16>, tensor<16x64x1024xbf16>) -> tensor<16x1024x1024xbf16>
  %p = graph.softmax %s axis 2 : (tensor<16x1024x1024xbf16>) -> tensor<16x1024x1024xbf16>
  %o = graph.matmul %p, %v : (tensor<16x1024x1024xbf16>, tensor<16x1024x64xbf16>) -> tensor<16x1024x64xbf16>
  %y = graph.rms_norm %o epsilon 1.0e-05 : (tensor<16x1024x64xbf16>) -> tensor<16x1024x64xbf16>
  func.return %y : tensor<16x1024x64xbf16>
}

// The loop of the only contraction, where another one's tiles would need more memory.
// CHECK-LABEL: func.func @rectified
// CHECK:       graph.group
// CHECK-SAME:    reduce [{{[0-9]+}}]
// CHECK:         graph.matmul
// CHECK-NOT:   graph.group
// CHECK:         graph.rsqrt
// CHECK-NOT:   graph.group
func.func @rectified(%p: tensor<2048x2048xbf16>, %v: tensor<2048x64xbf16>) -> tensor<2048x64xbf16> {
  %r = graph.relu %p : tensor<2048x2048xbf16>
  %o = graph.matmul %r, %v : (tensor<2048x2048xbf16>, tensor<2048x64xbf16>) -> tensor<2048x64xbf16>
  %y = graph.rms_norm %o epsilon 1.0e-05 : (tensor<2048x64xbf16>) -> tensor<2048x64xbf16>
  func.return %y : tensor<2048x64xbf16>
}

// A loop of one axis before a reduction of two.
// CHECK-LABEL: func.func @two_axes
// CHECK:       graph.group
// CHECK-SAME:    reduce [{{[0-9]+}}]
// CHECK:         graph.reduce {{.*}} <max> {{.*}}tlf.step = #graph.step<0
// CHECK:         graph.reduce {{.*}} <sum> {{.*}}tlf.step = #graph.step<1
// CHECK-NOT:   graph.group
// CHECK:         graph.log
// CHECK-NOT:   graph.group
// CHECK:         graph.reduce {{.*}} <sum> axes [1, 2] keepdims :
// CHECK-NOT:   graph.group
func.func @two_axes(%a: tensor<65536x8x4x4xf32>) -> tensor<65536x1x1xf32> {
  %x = graph.cos %a : tensor<65536x8x4x4xf32>
  %m = graph.reduce %x <max> axes [3] keepdims : (tensor<65536x8x4x4xf32>) -> tensor<65536x8x4x1xf32>
  %d = graph.sub %x, %m : (tensor<65536x8x4x4xf32>, tensor<65536x8x4x1xf32>) -> tensor<65536x8x4x4xf32>
  %e = graph.exp %d : tensor<65536x8x4x4xf32>
  %s = graph.reduce %e <sum> axes [3] : (tensor<65536x8x4x4xf32>) -> tensor<65536x8x4xf32>
  %l = graph.log %s : tensor<65536x8x4xf32>
  %y = graph.reduce %l <sum> axes [1, 2] keepdims : (tensor<65536x8x4xf32>) -> tensor<65536x1x1xf32>
  func.return %y : tensor<65536x1x1xf32>
}
