// RUN: tlf-opt %s -p graph-decompose | filecheck %s
// RUN: tlf-opt %s --target npu -p graph-decompose | filecheck %s
// RUN: tlf-opt %s --target h200 -p graph-decompose | filecheck %s --check-prefix=LOADS

// Without loads of windows they are gathered over all digits, and these are collapsed.
// CHECK-LABEL: func.func @rows
// CHECK-NEXT:    [[U:%.*]] = graph.unfold %x map affine_map<(d0, d1, d2, d3) -> (d0, ((d1 + d2) + -1), d3)> fill 1.500000e+00 : (tensor<2x7x16xf32>) -> tensor<2x7x3x16xf32>
// CHECK-NEXT:    [[Y:%.*]] = graph.reshape [[U]] : (tensor<2x7x3x16xf32>) -> tensor<14x48xf32>
// CHECK-NEXT:    func.return [[Y]]
// LOADS:         im2col is not decomposed: the target loads windows as rows natively
// LOADS:         graph.im2col
// LOADS-NEXT:    func.return
func.func @rows(%x: tensor<2x7x16xf32>) -> tensor<14x48xf32> {
  %0 = graph.im2col %x map affine_map<(n, h, r, c) -> (n, h + r - 1, c)> basis [[2, 7], [3, 16]] fill 1.5
      : (tensor<2x7x16xf32>) -> tensor<14x48xf32>
  func.return %0 : tensor<14x48xf32>
}
