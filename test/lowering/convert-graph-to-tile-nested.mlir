// RUN: tlf-opt %s --target h200 -p "convert-graph-to-tile" | filecheck %s
// RUN: tlf-opt %s --target h200 -p "convert-graph-to-tile,tidy,convert-tile-to-mem,tidy" | filecheck %s --check-prefix=MEM

// A long product in the loop of a cascade has a loop of its own, where moves overlap.
// CHECK-LABEL: func.func @logarithms
// CHECK:         tile.while (%i = 0 to 64 step 16) parallel
// CHECK:           tile.while (%k = 0 to 256 step 32) sequential mapping(loop) carry(
// CHECK:             [[ZERO:%.*]] = tile.fill 0.000000e+00
// CHECK-NEXT:        [[S:%.*]] = tile.while (%l = 0 to 1000 step 128) sequential mapping(loop) stages(3) carry({{.*}} = [[ZERO]]
// CHECK-DAG:           tile.slice %x[%i, %l] fill 0.000000e+00
// CHECK-DAG:           tile.slice %w[%l, %k] fill 0.000000e+00
// CHECK:               graph.matmul {{.*}} init
// CHECK:               tile.yield
// CHECK:             graph.reduce [[S]] <max>
// CHECK:             graph.reduce {{.*}} <sum>

// MEM-LABEL: func.func @logarithms
// MEM:         scf.for
// MEM:           scf.for
func.func @logarithms(%x: tensor<64x1000xf16>, %w: tensor<1000x256xf16>) -> tensor<64x1xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<64x1000xf16>, tensor<1000x256xf16>) plan #graph.plan<L1, tile [16, 1], reduce [32, 128], mapping grid, stages 3, reduce_stages 3> -> (tensor<64x1xf32>) {
    %s = graph.matmul %a, %b : (tensor<64x1000xf16>, tensor<1000x256xf16>) -> tensor<64x256xf32>
    %m = graph.reduce %s <max> axes [1] keepdims : (tensor<64x256xf32>) -> tensor<64x1xf32>
    %d = graph.sub %s, %m : (tensor<64x256xf32>, tensor<64x1xf32>) -> tensor<64x256xf32>
    %e = graph.exp %d : tensor<64x256xf32>
    %t = graph.reduce %e <sum> axes [1] keepdims : (tensor<64x256xf32>) -> tensor<64x1xf32>
    %l = graph.log %t : tensor<64x1xf32>
    %r = graph.add %l, %m : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
    graph.yield %r : tensor<64x1xf32>
  }
  func.return %y : tensor<64x1xf32>
}
