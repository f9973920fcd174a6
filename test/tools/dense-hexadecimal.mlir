// RUN: TLF_ROUNDTRIP

// Infinities and NaN are written as bits, and read as such; integers stay integers.
// CHECK-LABEL: func.func @numbers
func.func @numbers() -> (tensor<f32>, tensor<3xf32>, tensor<2xf16>, tensor<2xbf16>, tensor<1xf64>, tensor<2xi32>) {
  // CHECK-NEXT: dense<0xff800000> : tensor<f32>
  %a = graph.constant dense<0xFF800000> : tensor<f32>
  // CHECK-NEXT: dense<[0.000000e+00, 0x7f800000, 1.000000e+00]> : tensor<3xf32>
  %b = graph.constant dense<[0.0, 0x7f800000, 0x3F800000]> : tensor<3xf32>
  // CHECK-NEXT: dense<[0xfc00, 1.000000e+00]> : tensor<2xf16>
  %c = graph.constant dense<[0xfc00, 0x3c00]> : tensor<2xf16>
  // CHECK-NEXT: dense<[0x7f80, 1.000000e+00]> : tensor<2xbf16>
  %d = graph.constant dense<[0x7f80, 0x3f80]> : tensor<2xbf16>
  // CHECK-NEXT: dense<0xfff0000000000000> : tensor<1xf64>
  %e = graph.constant dense<[0xfff0000000000000]> : tensor<1xf64>
  // CHECK-NEXT: dense<[255, 16]> : tensor<2xi32>
  %f = graph.constant dense<[0xff, 0x10]> : tensor<2xi32>
  func.return %a, %b, %c, %d, %e, %f : tensor<f32>, tensor<3xf32>, tensor<2xf16>, tensor<2xbf16>, tensor<1xf64>, tensor<2xi32>
}
