// RUN: tlf-opt %s --target h200 -p "graph-select-tile-sizes,dce,convert-graph-to-tile" | filecheck %s
// RUN: tlf-run %s --target triton --entry greatest --check | filecheck %s --check-prefix=RUNS

// Loops are built for the first result of a group, here of a product that the sum behind it
// could run with: what reduces has no loop then.
// CHECK-LABEL: func.func @product
// CHECK-NOT:     sequential
// CHECK:         graph.contract
// CHECK:         graph.reduce
// CHECK-LABEL: func.func @greatest
// RUNS: error of p {{.*}} ok
// RUNS: error of s {{.*}} ok
func.func @product(%k: tensor<4x256x64xbf16>, %v: tensor<4x256x64xbf16>) -> (tensor<4x64x64xf32>, tensor<4x64x1xf32>) {
  %p, %s = graph.group ins(%a = %k, %b = %v : tensor<4x256x64xbf16>, tensor<4x256x64xbf16>) -> (tensor<4x64x64xf32>, tensor<4x64x1xf32>) {
    %e = graph.exp %a : tensor<4x256x64xbf16>
    %p1 = graph.contract %e, %b maps [affine_map<(b, m, n, k) -> (b, k, m)>, affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      : (tensor<4x256x64xbf16>, tensor<4x256x64xbf16>) -> tensor<4x64x64xf32>
    %c = graph.cast %e : (tensor<4x256x64xbf16>) -> tensor<4x256x64xf32>
    %r = graph.reduce %c <sum> axes [1] : (tensor<4x256x64xf32>) -> tensor<4x64xf32>
    %s1 = graph.reshape %r : (tensor<4x64xf32>) -> tensor<4x64x1xf32>
    graph.yield %p1, %s1 : tensor<4x64x64xf32>, tensor<4x64x1xf32>
  }
  func.return %p, %s : tensor<4x64x64xf32>, tensor<4x64x1xf32>
}

func.func @greatest(%k: tensor<64x256xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %p, %s = graph.group ins(%a = %k : tensor<64x256xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %m = graph.reduce %a <max> axes [1] : (tensor<64x256xf32>) -> tensor<64xf32>
    %e = graph.exp %a : tensor<64x256xf32>
    %r = graph.reduce %e <sum> axes [1] : (tensor<64x256xf32>) -> tensor<64xf32>
    graph.yield %m, %r : tensor<64xf32>, tensor<64xf32>
  }
  func.return %p, %s : tensor<64xf32>, tensor<64xf32>
}
