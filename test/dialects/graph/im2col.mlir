// RUN: TLF_ROUNDTRIP

%x, %n, %b = "test.op"() : () -> (tensor<2x7x7x16xf32>, tensor<9xi8>, tensor<4x6xi1>)
// CHECK: graph.im2col %x map affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, ((d1 + d3) + -1), ((d2 + d4) + -1), d5)> basis [[2, 7, 7], [3, 3, 16]] fill 0.000000e+00 {test.hint = "a"} : (tensor<2x7x7x16xf32>) -> tensor<98x144xf32>
%0 = graph.im2col %x map affine_map<(n, h, w, r, s, c) -> (n, h + r - 1, w + s - 1, c)>
    basis [[2, 7, 7], [3, 3, 16]] fill 0.0 {test.hint = "a"} : (tensor<2x7x7x16xf32>) -> tensor<98x144xf32>
// CHECK-NEXT: graph.im2col %n map affine_map<(d0, d1) -> (((d0 * 2) + d1))> basis [[4, 3]] fill -7 : (tensor<9xi8>) -> tensor<12xi8>
%1 = graph.im2col %n map affine_map<(o, k) -> (o * 2 + k)> basis [[4, 3]] fill -7 : (tensor<9xi8>) -> tensor<12xi8>
// CHECK-NEXT: graph.im2col %b map affine_map<(d0, d1, d2) -> (d1, (d0 + d2))> basis [[5], [4], [2]] fill true : (tensor<4x6xi1>) -> tensor<5x4x2xi1>
%2 = graph.im2col %b map affine_map<(o, g, k) -> (g, o + k)> basis [[5], [4], [2]] fill true : (tensor<4x6xi1>) -> tensor<5x4x2xi1>
// CHECK-NEXT: graph.im2col %x map affine_map<(d0) -> (0, 0, 0, d0)> basis [[16]] fill -inf : (tensor<2x7x7x16xf32>) -> tensor<16xf32>
%3 = graph.im2col %x map affine_map<(c) -> (0, 0, 0, c)> basis [[16]] fill -inf : (tensor<2x7x7x16xf32>) -> tensor<16xf32>
