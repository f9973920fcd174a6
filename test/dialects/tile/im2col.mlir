// RUN: TLF_ROUNDTRIP

%i, %x = "test.op"() : () -> (index, tensor<2x9x7x16xf32>)
// CHECK: tile.im2col %x[%i, 0] map affine_map<(d0, d1, d2, d3, d4) -> (d0, (d1 + d3), d2, d4)> basis [[2, 7, 7], [3, 16]] fill 0.000000e+00 : f32 : tensor<2x9x7x16xf32> -> tensor<16x16xf32, #tile.encoding<L1>>
%0 = tile.im2col %x[%i, 0] map affine_map<(n, h, w, r, c) -> (n, h + r, w, c)>
    basis [[2, 7, 7], [3, 16]] fill 0.0 : f32
    : tensor<2x9x7x16xf32> -> tensor<16x16xf32, #tile.encoding<L1>>
// CHECK-NEXT: tile.im2col %x[%i, 5] map affine_map<(d0, d1) -> (0, 0, d0, d1)> basis [[7], [16]] valid [7, 3] {test.hint = "a"} : tensor<2x9x7x16xf32> -> tensor<8x4xf32, #tile.encoding<L1>>
%1 = tile.im2col %x[%i, 5] map affine_map<(w, c) -> (0, 0, w, c)> basis [[7], [16]] valid [7, 3] {test.hint = "a"}
    : tensor<2x9x7x16xf32> -> tensor<8x4xf32, #tile.encoding<L1>>
