// RUN: tlf-opt %s --target h200 -p graph-annotate-roofline | filecheck %s

// Of a large table as much is read as is written, of a small one all.
// CHECK-LABEL: func.func @rows
func.func @rows(%t: tensor<50257x64xf32>, %s: tensor<2x64xf32>, %n: tensor<32xi64>) -> tensor<32x64xf32> {
  // 2 * 32 * 64 * 4 bytes and 32 * 8 of indices.
  // CHECK: graph.take {{.*}}bytes = 16640 : i64, class = "movement", {{.*}}flops = 0
  %0 = graph.take %t, %n axis 0 : (tensor<50257x64xf32>, tensor<32xi64>) -> tensor<32x64xf32>
  // CHECK: graph.take {{.*}}bytes = 8960 : i64
  %1 = graph.take %s, %n axis 0 : (tensor<2x64xf32>, tensor<32xi64>) -> tensor<32x64xf32>
  %y = graph.add %0, %1 : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  func.return %y : tensor<32x64xf32>
}
