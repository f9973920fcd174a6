// Totals along axes that are longer than a block, the last one cut off: of 16-bit floats
// in f32, and products, on every target.
// RUN: tlf-run %s --target npu-tiny -p %first-plans --check | filecheck %s
// RUN: tlf-run %s --target triton --check | filecheck %s

// CHECK: error of sums {{.*}}: ok
// CHECK: error of product {{.*}}: ok

func.func @main(%x: tensor<2x135xbf16>, %y: tensor<130x2xf32>)
    -> (tensor<2x135xbf16>, tensor<130x2xf32>) {
  %sums = graph.cumulate %x <sum> axis 1 : (tensor<2x135xbf16>) -> tensor<2x135xbf16>
  %product = graph.cumulate %y <prod> axis 0
    : (tensor<130x2xf32>) -> tensor<130x2xf32>
  func.return %sums, %product : tensor<2x135xbf16>, tensor<130x2xf32>
}
