// RUN: tlf-opt %s --target h200 -p "graph-pipeline,graph-group,graph-choose-tiles" | filecheck %s
// RUN: tlf-opt %s --target npu -p "graph-pipeline,graph-group{level=L1},graph-choose-tiles{level=L1}" | filecheck %s

// The longest loop is built, here along the keys of an attention. Sums of its results run
// whole behind it.
// CHECK-LABEL: func.func @normalised
// CHECK:       graph.group
// CHECK-SAME:    reduce [{{[0-9]+}}]
// CHECK:         graph.reduce {{.*}} <max> {{.*}}tlf.step = #graph.step<0
// CHECK:         graph.reduce {{.*}} <sum> {{.*}}tlf.step = #graph.step<1
// CHECK:         graph.matmul {{.*}}tlf.step = #graph.step<2
// CHECK-NOT:     tlf.step
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
// CHECK:         graph.rsqrt
// CHECK-NOT:   graph.group
func.func @rectified(%p: tensor<2048x2048xbf16>, %v: tensor<2048x64xbf16>) -> tensor<2048x64xbf16> {
  %r = graph.relu %p : tensor<2048x2048xbf16>
  %o = graph.matmul %r, %v : (tensor<2048x2048xbf16>, tensor<2048x64xbf16>) -> tensor<2048x64xbf16>
  %y = graph.rms_norm %o epsilon 1.0e-05 : (tensor<2048x64xbf16>) -> tensor<2048x64xbf16>
  func.return %y : tensor<2048x64xbf16>
}
