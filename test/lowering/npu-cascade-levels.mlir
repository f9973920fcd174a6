// RUN: tlf-opt %s --target npu-tiny:L2=24K -p "graph-pipeline,graph-group{level=L2},graph-partition{level=L2 max-evaluations=0},dce,convert-graph-to-tile,tlf-cse,graph-group{level=L1},graph-select-tile-sizes{level=L1 max-evaluations=0},dce,convert-graph-to-tile,tidy" | filecheck %s
// RUN: tlf-run %s --target npu-tiny:L2=24K -p %first-plans --check | filecheck %s --check-prefix=PIECES

// Keys and values of a head do not fit into L2: a loop brings some of them after the
// other, and carries what the rows of a tile have come to. For each of these pieces
// the reductions run together near the engines again; what the loop carries is computed
// anew where it lies.

// CHECK: tile.while {{.*}} parallel
// CHECK: tile.while (%{{.*}} = 0 to 256 step {{.*}}) sequential {{.*}} carry(%[[M:.*]] = {{.*}}, %[[L:.*]] = {{.*}}, %[[A:.*]] = {{.*}})
// CHECK: tile.while {{.*}} parallel {{.*}} into(%{{.*}} = %[[A]] : {{.*}}, %{{.*}} = %[[L]] : {{.*}}, %{{.*}} = %[[M]] : {{.*}})
// CHECK-NOT: tile.while
// CHECK: graph.matmul
// CHECK: graph.reduce {{.*}} <max> init
// CHECK: graph.exp
// CHECK: graph.reduce {{.*}} <sum> axes
// CHECK: graph.add
// CHECK: graph.matmul
// CHECK: graph.add
// CHECK: tile.yield
// PIECES: L3 bytes {{.*}} 1.50x of the compulsory bytes
// PIECES: error of o {{.*}}: ok

func.func @attention(%q: tensor<256x16xf32>, %k: tensor<16x256xf32>,
                     %v: tensor<256x16xf32>) -> tensor<256x16xf32> {
  %s = graph.matmul %q, %k
      : (tensor<256x16xf32>, tensor<16x256xf32>) -> tensor<256x256xf32>
  %p = graph.softmax %s axis 1 : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %o = graph.matmul %p, %v
      : (tensor<256x256xf32>, tensor<256x16xf32>) -> tensor<256x16xf32>
  func.return %o : tensor<256x16xf32>
}
