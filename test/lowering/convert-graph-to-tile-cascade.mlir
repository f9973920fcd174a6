// RUN: tlf-opt %s --target h200 -p "convert-graph-to-tile,tidy" | filecheck %s

// A greatest score, a sum of exponentials and a product with values in one loop: what has
// been added up is multiplied by exp(m - m') when the greatest score changes, and what
// others see of it is finite.
// CHECK-LABEL: func.func @softmax
// CHECK:         [[M:%.*]] = tile.fill 0xff800000 : f32 : tensor<16x1xf32
// CHECK:         tile.while (%k{{.*}} = 0 to 128 step 32) sequential {{.*}} carry([[M0:%.*]] = [[M]] : {{.*}}, [[L0:%.*]] = {{.*}}, [[O0:%.*]] = {{.*}}) {
// CHECK:           [[B:%.*]] = graph.maximum [[M0]], [[LEAST:%.*]] :
// CHECK:           [[S:%.*]] = graph.matmul
// CHECK:           [[M1:%.*]] = graph.reduce [[S]] <max> init [[M0]]
// CHECK:           [[A:%.*]] = graph.maximum [[M1]], [[LEAST]]
// CHECK:           [[D:%.*]] = graph.sub [[S]], [[A]]
// CHECK:           [[E:%.*]] = graph.exp [[D]]
// CHECK:           [[C:%.*]] = graph.sub [[B]], [[A]]
// CHECK:           [[F:%.*]] = graph.exp [[C]]
// CHECK:           [[L:%.*]] = graph.mul [[L0]], [[F]]
// CHECK:           [[L1:%.*]] = graph.reduce [[E]] <sum> init [[L]]
// CHECK:           [[O:%.*]] = graph.mul [[O0]], [[F]]
// CHECK:           [[O1:%.*]] = graph.matmul [[E]], {{.*}} init [[O]]
// CHECK:           tile.yield [[M1]], [[L1]], [[O1]]
// CHECK:         graph.div
func.func @softmax(%q: tensor<64x16xf32>, %k: tensor<16x128xf32>, %v: tensor<128x32xf32>) -> tensor<64x32xf32> {
  %y = graph.group ins(%a = %q, %b = %k, %c = %v : tensor<64x16xf32>, tensor<16x128xf32>, tensor<128x32xf32>) plan #graph.plan<L1, tile [16, 32], reduce [32], mapping grid> -> (tensor<64x32xf32>) {
    %s = graph.matmul %a, %b : (tensor<64x16xf32>, tensor<16x128xf32>) -> tensor<64x128xf32>
    %m = graph.reduce %s <max> axes [1] keepdims : (tensor<64x128xf32>) -> tensor<64x1xf32>
    %d = graph.sub %s, %m : (tensor<64x128xf32>, tensor<64x1xf32>) -> tensor<64x128xf32>
    %e = graph.exp %d : tensor<64x128xf32>
    %l = graph.reduce %e <sum> axes [1] keepdims : (tensor<64x128xf32>) -> tensor<64x1xf32>
    %o = graph.matmul %e, %c : (tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>
    %r = graph.div %o, %l : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
    graph.yield %r : tensor<64x32xf32>
  }
  func.return %y : tensor<64x32xf32>
}

// Two products one after the other carry the result of the second.
// CHECK-LABEL: func.func @products
// CHECK:         tile.while (%k{{.*}} = 0 to 128 step 64) sequential {{.*}} carry([[O0:%.*]] = %{{.*}} : tensor<16x32xf32, #tile.encoding<L1>>) {
// CHECK:           graph.matmul
// CHECK:           graph.relu
// CHECK:           [[O1:%.*]] = graph.matmul {{.*}} init [[O0]]
// CHECK:           tile.yield [[O1]]
func.func @products(%q: tensor<64x16xf32>, %k: tensor<16x128xf32>, %v: tensor<128x32xf32>) -> tensor<64x32xf32> {
  %y = graph.group ins(%a = %q, %b = %k, %c = %v : tensor<64x16xf32>, tensor<16x128xf32>, tensor<128x32xf32>) plan #graph.plan<L1, tile [16, 32], reduce [64], mapping grid> -> (tensor<64x32xf32>) {
    %s = graph.matmul %a, %b : (tensor<64x16xf32>, tensor<16x128xf32>) -> tensor<64x128xf32>
    %e = graph.relu %s : tensor<64x128xf32>
    %o = graph.matmul %e, %c : (tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>
    graph.yield %o : tensor<64x32xf32>
  }
  func.return %y : tensor<64x32xf32>
}
