// RUN: tlf-explain %s --target h200 | filecheck %s

// The reductions of a kernel that are one loop, and how often it runs.
// CHECK:      group 0:
// CHECK-NEXT:   predicted {{.*}} bytes of shared memory; reduce, reduce, matmul in one loop of {{[0-9]+}}
func.func @attention(%q: tensor<64x2048x64xf16>, %k: tensor<64x64x2048xf16>, %v: tensor<64x2048x64xf16>) -> tensor<64x2048x64xf16> {
  %s = graph.matmul %q, %k : (tensor<64x2048x64xf16>, tensor<64x64x2048xf16>) -> tensor<64x2048x2048xf16>
  %p = graph.softmax %s axis 2 : (tensor<64x2048x2048xf16>) -> tensor<64x2048x2048xf16>
  %o = graph.matmul %p, %v : (tensor<64x2048x2048xf16>, tensor<64x2048x64xf16>) -> tensor<64x2048x64xf16>
  func.return %o : tensor<64x2048x64xf16>
}
