// RUN: TLF_ROUNDTRIP

%v = "test.op"() : () -> tensor<2x128xf16>
// CHECK: mem.argsort %v count 100 descending : tensor<2x128xf16> -> tensor<2x16xi32>
%i = mem.argsort %v count 100 descending : tensor<2x128xf16> -> tensor<2x16xi32>
// CHECK-NEXT: mem.argsort %v count 128 {test.hint = "a"} : tensor<2x128xf16> -> tensor<2x128xi32>
%j = mem.argsort %v count 128 {test.hint = "a"} : tensor<2x128xf16> -> tensor<2x128xi32>
