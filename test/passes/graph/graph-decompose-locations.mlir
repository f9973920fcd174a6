// RUN: tlf-opt %s -p graph-decompose --print-debuginfo | filecheck %s

// CHECK:      graph.reduce {{.*}} loc("net.py":7:3)
// CHECK-NEXT: graph.sub {{.*}} loc("net.py":7:3)
// CHECK:      graph.div {{.*}} loc("net.py":7:3)
func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = graph.softmax %x axis 1 : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("net.py":7:3)
  func.return %y : tensor<4x8xf32>
}
