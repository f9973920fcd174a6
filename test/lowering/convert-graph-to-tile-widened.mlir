// RUN: tlf-opt %s --target h200 -p "convert-graph-to-tile" | filecheck %s
// RUN: tlf-opt %s --target h200 -p "convert-graph-to-tile,tidy,convert-tile-to-mem" | filecheck %s --check-prefix=MEM

// Two products of the same rows, one of which has terms added for the matrix engine: each
// cuts its own tile, as tiles of registers have no parts.
// CHECK-LABEL: func.func @products
// CHECK-DAG:     tile.slice %x{{.*}} -> tensor<16x8xf32
// CHECK-DAG:     tile.slice %x{{.*}} -> tensor<16x16xf32
// CHECK-NOT:     tile.slice {{.*}} tensor<16x16xf32, #tile.encoding<L1>> ->
// MEM-LABEL: func.func @products
func.func @products(%x: tensor<64x8xf32>, %v: tensor<8x256xf32>, %w: tensor<8x256xf32>) -> tensor<64x256xf32> {
  %y = graph.group ins(%a = %x, %b = %v, %c = %w : tensor<64x8xf32>, tensor<8x256xf32>, tensor<8x256xf32>) plan #graph.plan<L1, tile [16, 32], reduce [16], mapping grid> -> (tensor<64x256xf32>) {
    %p = graph.matmul %a, %b : (tensor<64x8xf32>, tensor<8x256xf32>) -> tensor<64x256xf32>
    %q = graph.matmul %a, %c : (tensor<64x8xf32>, tensor<8x256xf32>) -> tensor<64x256xf32>
    %r = graph.mul %p, %q : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
    graph.yield %r : tensor<64x256xf32>
  }
  func.return %y : tensor<64x256xf32>
}
