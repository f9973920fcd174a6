// RUN: tlf-opt %s -p graph-unfold-windows --print-debuginfo | filecheck %s

// CHECK:      graph.unfold {{.*}} loc("net.py":7:3)
// CHECK-NEXT: graph.reduce {{.*}} loc("net.py":7:3)
func.func @f(%x: tensor<1x8x9x9xf16>) -> tensor<1x8x7x7xf16> {
  %y = graph.max_pool2d %x kernel [3, 3] : (tensor<1x8x9x9xf16>) -> tensor<1x8x7x7xf16> loc("net.py":7:3)
  func.return %y : tensor<1x8x7x7xf16>
}
