// RUN: tlf-opt %s --target h200 -p "graph-group,graph-select-tile-sizes" | filecheck %s
// RUN: tlf-run %s --target triton --entry f --check | filecheck %s --check-prefix=RUNS

// Sums and a product of what is computed once, in one loop: tiles have all columns of the
// product, along which no sum moves, as each sum is stored by one program. The search starts
// from the product, not from the sum before it.
// CHECK-LABEL: func.func @f(
// CHECK:      graph.group
// CHECK-SAME:   plan #graph.plan<L1, tile [1, {{16|32|64}}, 64], reduce [{{[0-9]+}}]
// CHECK:        graph.exp
// CHECK:        graph.reduce
// CHECK:        graph.contract
// CHECK:        graph.yield
// CHECK-NOT:  graph.group
// RUN: tlf-run %s --target triton --entry fewer_axes --check | filecheck %s --check-prefix=RUNS
// RUNS: ok
func.func @f(%k: tensor<2x128x64xbf16>, %v: tensor<2x128x64xbf16>)
    -> (tensor<2x64x1xf32>, tensor<2x64x64xf32>) {
  %e = graph.exp %k : tensor<2x128x64xbf16>
  %c = graph.cast %e : (tensor<2x128x64xbf16>) -> tensor<2x128x64xf32>
  %r = graph.reduce %c <sum> axes [1] : (tensor<2x128x64xf32>) -> tensor<2x64xf32>
  %s = graph.reshape %r : (tensor<2x64xf32>) -> tensor<2x64x1xf32>
  %p = graph.contract %e, %v maps [affine_map<(b, m, n, k) -> (b, k, m)>, affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      : (tensor<2x128x64xbf16>, tensor<2x128x64xbf16>) -> tensor<2x64x64xf32>
  func.return %s, %p : tensor<2x64x1xf32>, tensor<2x64x64xf32>
}

// Sums without the axis that the product has beside theirs follow its tiles, though they come
// last.
// CHECK-LABEL: func.func @fewer_axes
// CHECK:         graph.group
// CHECK-SAME:      plan #graph.plan<L1, tile [1, {{16|32|64}}, 1, 64], reduce [{{[0-9]+}}]
// CHECK-SAME:      -> (tensor<2x64x1x64xf32>, tensor<2x64xf32>)
// CHECK-NOT:     graph.group
func.func @fewer_axes(%k: tensor<2x128x64xbf16>, %v: tensor<2x128x1x64xbf16>)
    -> (tensor<2x64x1x64xf32>, tensor<2x64xf32>) {
  %e = graph.exp %k : tensor<2x128x64xbf16>
  %p = graph.contract %e, %v maps [affine_map<(b, m, o, n, k) -> (b, k, m)>, affine_map<(b, m, o, n, k) -> (b, k, o, n)>, affine_map<(b, m, o, n, k) -> (b, m, o, n)>]
      : (tensor<2x128x64xbf16>, tensor<2x128x1x64xbf16>) -> tensor<2x64x1x64xf32>
  %c = graph.cast %e : (tensor<2x128x64xbf16>) -> tensor<2x128x64xf32>
  %s = graph.reduce %c <sum> axes [1] : (tensor<2x128x64xf32>) -> tensor<2x64xf32>
  func.return %p, %s : tensor<2x64x1x64xf32>, tensor<2x64xf32>
}
