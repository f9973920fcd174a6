// RUN: TLF_ROUNDTRIP

%i, %x = "test.op"() : () -> (index, memref<2x9x7x16xf32, "L3">)
// CHECK: mem.im2col %x[%i, 0] map affine_map<(d0, d1, d2, d3, d4) -> (d0, (d1 + d3), d2, d4)> basis [[2, 7, 7], [3, 16]] size [16, 16] fill 0.0 : memref<2x9x7x16xf32, "L3"> -> tensor<16x16xf32>
%0 = mem.im2col %x[%i, 0] map affine_map<(n, h, w, r, c) -> (n, h + r, w, c)>
    basis [[2, 7, 7], [3, 16]] size [16, 16] fill 0.0 : memref<2x9x7x16xf32, "L3"> -> tensor<16x16xf32>
// CHECK-NEXT: mem.im2col %x[5] map affine_map<(d0, d1) -> (0, 0, d0, d1)> basis [[7, 16]] size [7] {test.hint = "a"} : memref<2x9x7x16xf32, "L3"> -> tensor<8xf32>
%1 = mem.im2col %x[5] map affine_map<(w, c) -> (0, 0, w, c)> basis [[7, 16]] size [7] {test.hint = "a"}
    : memref<2x9x7x16xf32, "L3"> -> tensor<8xf32>
