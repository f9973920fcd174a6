// RUN: TLF_ROUNDTRIP

%t = "test.op"() : () -> tensor<2x128xf32, #tile.encoding<L1>>
// CHECK: tile.argsort %t count 100 descending : tensor<2x128xf32, #tile.encoding<L1>> -> tensor<2x16xi32, #tile.encoding<L1>>
%i = tile.argsort %t count 100 descending : tensor<2x128xf32, #tile.encoding<L1>> -> tensor<2x16xi32, #tile.encoding<L1>>
// CHECK-NEXT: tile.argsort %t count 128 {test.hint = "a"} : tensor<2x128xf32, #tile.encoding<L1>> -> tensor<2x128xi32, #tile.encoding<L1>>
%j = tile.argsort %t count 128 {test.hint = "a"} : tensor<2x128xf32, #tile.encoding<L1>> -> tensor<2x128xi32, #tile.encoding<L1>>
