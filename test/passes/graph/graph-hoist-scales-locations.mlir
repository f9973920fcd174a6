// RUN: tlf-opt %s -p "graph-decompose,dce,graph-hoist-scales" --print-debuginfo | filecheck %s

// What is left of a softmax when a product takes its factor was written where that was,
// whatever stands before the product.
// CHECK: graph.exp {{.*}} loc("{{.*}}":[[SOFTMAX:[0-9]+]]:3)
// CHECK: %n = graph.mul
// CHECK: graph.cast {{.*}}tensor<128x4096xf16> loc("{{.*}}":[[SOFTMAX]]:3)
// CHECK: graph.matmul
func.func @f(%x: tensor<128x4096xf16>, %v: tensor<4096x64xf16>) -> tensor<128x64xf16> {
  %p = graph.softmax %x axis 1 : (tensor<128x4096xf16>) -> tensor<128x4096xf16>
  %n = graph.mul %v, %v : (tensor<4096x64xf16>, tensor<4096x64xf16>) -> tensor<4096x64xf16>
  %y = graph.matmul %p, %n : (tensor<128x4096xf16>, tensor<4096x64xf16>) -> tensor<128x64xf16>
  func.return %y : tensor<128x64xf16>
}
