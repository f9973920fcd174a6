// RUN: tlf-opt %s --target h200 -p "graph-decompose,graph-group" --split-input-file | filecheck %s

// Each product is added to the sum of those before: not all are kept until the end.
// CHECK-LABEL: func.func @sum
// CHECK:         graph.group
// CHECK:           graph.matmul
// CHECK-NOT:       graph.add
// CHECK:           graph.yield
// CHECK:         graph.group
// CHECK:           graph.matmul
// CHECK:           graph.add
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group
// CHECK:           graph.matmul
// CHECK:           graph.add
// CHECK-NEXT:      graph.yield
func.func @sum(%x: tensor<4096x512xbf16>, %y: tensor<4096x512xbf16>, %z: tensor<4096x512xbf16>,
               %a: tensor<512x4096xbf16>, %b: tensor<512x4096xbf16>, %c: tensor<512x4096xbf16>)
    -> tensor<4096x4096xbf16> {
  %0 = graph.matmul %x, %a : (tensor<4096x512xbf16>, tensor<512x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = graph.matmul %y, %b : (tensor<4096x512xbf16>, tensor<512x4096xbf16>) -> tensor<4096x4096xbf16>
  %2 = graph.add %0, %1 : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %3 = graph.matmul %z, %c : (tensor<4096x512xbf16>, tensor<512x4096xbf16>) -> tensor<4096x4096xbf16>
  %4 = graph.add %2, %3 : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  func.return %4 : tensor<4096x4096xbf16>
}
