// RUN: tlf-opt %s --target npu-tiny -p convert-graph-to-tile | filecheck %s
// RUN: tlf-opt %s --target h200 -p convert-graph-to-tile | filecheck %s --check-prefix=VALUE

// The weights are used in the loop that adds up what they weigh. Where tiles have only
// extents that are powers of two, these are just that.
// CHECK-LABEL: func.func @weighted_sum
// CHECK:         tile.while ([[I:%.*]] = 0 to 1000 step 16) parallel
// CHECK-NEXT:      [[Z:%.*]] = tile.fill 0.000000e+00 : f32 : tensor<16xf32, #tile.encoding<L1>>
// CHECK-NEXT:      tile.while ([[K:%.*]] = 0 to 512 step 64) sequential mapping(loop) carry([[T:%.*]] = [[Z]] :
// CHECK-NEXT:        [[X:%.*]] = tile.slice %x[[[I]], [[K]]] : tensor<1000x512xf32> -> tensor<16x64xf32, #tile.encoding<L1>>
// CHECK-NEXT:        [[W:%.*]] = tile.slice %w[[[K]]] : tensor<512xf32> -> tensor<64xf32, #tile.encoding<L1>>
// CHECK-NEXT:        [[P:%.*]] = graph.mul [[X]], [[W]]
// CHECK-NEXT:        graph.reduce [[P]] <sum> init [[T]] axes [1]
// VALUE-LABEL: func.func @weighted_sum
// VALUE:           tile.slice %x[{{.*}}] : tensor<1000x512xf32> -> tensor<16x64xf32, #tile.encoding<L1>>
// VALUE:           tile.deslice {{.*}}] : tensor<16xf32
func.func @weighted_sum(%x: tensor<1000x512xf32>, %w: tensor<512xf32>) -> tensor<1000xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<1000x512xf32>, tensor<512xf32>)
      plan #graph.plan<L1, tile [16], reduce [64]> -> (tensor<1000xf32>) {
    %0 = graph.mul %a, %b : (tensor<1000x512xf32>, tensor<512xf32>) -> tensor<1000x512xf32>
    %1 = graph.reduce %0 <sum> axes [1] : (tensor<1000x512xf32>) -> tensor<1000xf32>
    graph.yield %1 : tensor<1000xf32>
  }
  func.return %y : tensor<1000xf32>
}

// A last step of 32 columns, where 48 are computed: products beyond the end are masked
// before they are added up. Where tiles must be larger than that, they are valid in
// part, and no more is masked, added or written.
// CHECK-LABEL: func.func @odd
// CHECK:         tile.while ([[I:%.*]] = 0 to 1000 step 17) parallel
// CHECK:           tile.while ([[K:%.*]] = 0 to 512 step 48) sequential
// CHECK:             [[P:%.*]] = graph.mul
// CHECK-NEXT:        [[M:%.*]] = tile.mask [[P]][[[I]], [[K]]] bounds [1000, 512] fill 0.000000e+00 : f32 : tensor<17x48xf32, #tile.encoding<L1>>
// CHECK-NEXT:        graph.reduce [[M]] <sum>
// VALUE-LABEL: func.func @odd
// VALUE:         tile.while ([[I:%.*]] = 0 to 1000 step 17) parallel
// VALUE:           tile.while ([[K:%.*]] = 0 to 512 step 48) sequential
// VALUE-NEXT:        tile.slice %x[[[I]], [[K]]] valid [17, 48] : tensor<1000x512xf32> -> tensor<32x64xf32, #tile.encoding<L1>>
// VALUE-NEXT:        tile.slice %w[[[K]]] valid [48] : tensor<512xf32> -> tensor<64xf32, #tile.encoding<L1>>
// VALUE:             tile.mask {{.*}} bounds [1000, 512] valid [17, 48] fill 0.000000e+00
// VALUE:           tile.deslice {{.*}}[[[I]]] valid [17] : tensor<32xf32, #tile.encoding<L1>> into tensor<1000xf32>
func.func @odd(%x: tensor<1000x512xf32>, %w: tensor<512xf32>) -> tensor<1000xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<1000x512xf32>, tensor<512xf32>)
      plan #graph.plan<L1, tile [17], reduce [48]> -> (tensor<1000xf32>) {
    %0 = graph.mul %a, %b : (tensor<1000x512xf32>, tensor<512xf32>) -> tensor<1000x512xf32>
    %1 = graph.reduce %0 <sum> axes [1] : (tensor<1000x512xf32>) -> tensor<1000xf32>
    graph.yield %1 : tensor<1000xf32>
  }
  func.return %y : tensor<1000xf32>
}

// What a maximum reads beyond the end is the least number; the rest of a softmax needs
// whole rows, which on some targets are longer than the tensor's.
// CHECK-LABEL: func.func @max
// CHECK:         tile.fill 0xff800000 : f32
// CHECK:         tile.slice %x[{{.*}}] fill 0xff800000 : f32 :
// VALUE-LABEL: func.func @max
// VALUE:         tile.slice %x[{{.*}}] fill 0xff800000 : f32 :
func.func @max(%x: tensor<10x30xf32>) -> tensor<10xf32> {
  %y = graph.group ins(%a = %x : tensor<10x30xf32>) plan #graph.plan<L1, tile [4], reduce [8]> -> (tensor<10xf32>) {
    %0 = graph.reduce %a <max> axes [1] : (tensor<10x30xf32>) -> tensor<10xf32>
    graph.yield %0 : tensor<10xf32>
  }
  func.return %y : tensor<10xf32>
}

// Both reductions of a softmax run over the row that one tile holds. A row that fills
// its tile needs no mask; one that does not is masked before it is added up: exp(0) = 1.
// CHECK-LABEL: func.func @softmax
// CHECK-NOT:     tile.mask
// CHECK:         func.return
// VALUE-LABEL: func.func @softmax
// VALUE:         [[X:%.*]] = tile.slice %x[{{.*}}, 0] fill 0xff800000 : f32 : tensor<10x30xf32> -> tensor<4x32xf32, #tile.encoding<L1>>
// VALUE-NEXT:    [[M:%.*]] = graph.reduce [[X]] <max>
// VALUE-NEXT:    [[S:%.*]] = graph.sub [[X]], [[M]]
// VALUE-NEXT:    [[E:%.*]] = graph.exp [[S]]
// VALUE-NEXT:    [[K:%.*]] = tile.mask [[E]][{{.*}}, 0] bounds [10, 30] fill 0.000000e+00
// VALUE-NEXT:    graph.reduce [[K]] <sum>
// VALUE-NEXT:    [[Y:%.*]] = graph.div [[E]],
// VALUE-NEXT:    tile.deslice [[Y]] into
func.func @softmax(%x: tensor<10x30xf32>) -> tensor<10x30xf32> {
  %y = graph.group ins(%a = %x : tensor<10x30xf32>) plan #graph.plan<L1, tile [4, 30]> -> (tensor<10x30xf32>) {
    %0 = graph.reduce %a <max> axes [1] keepdims : (tensor<10x30xf32>) -> tensor<10x1xf32>
    %1 = graph.sub %a, %0 : (tensor<10x30xf32>, tensor<10x1xf32>) -> tensor<10x30xf32>
    %2 = graph.exp %1 : tensor<10x30xf32>
    %3 = graph.reduce %2 <sum> axes [1] keepdims : (tensor<10x30xf32>) -> tensor<10x1xf32>
    %4 = graph.div %2, %3 : (tensor<10x30xf32>, tensor<10x1xf32>) -> tensor<10x30xf32>
    graph.yield %4 : tensor<10x30xf32>
  }
  func.return %y : tensor<10x30xf32>
}

// What is left of rows is a further result beside the rows.
// CHECK-LABEL: func.func @rows_and_sums
// CHECK:         tile.while ([[I:%.*]] = 0 to 1000 step 16) parallel
// CHECK:           tile.deslice {{.*}}[[[I]], 0] : tensor<16x1xf32, #tile.encoding<L1>> into tensor<1000x1xf32>
// CHECK:           tile.deslice {{.*}}[[[I]], 0] : tensor<16x512xf32, #tile.encoding<L1>> into tensor<1000x512xf32>
func.func @rows_and_sums(%x: tensor<1000x512xf32>) -> (tensor<1000x512xf32>, tensor<1000x1xf32>) {
  %y, %z = graph.group ins(%a = %x : tensor<1000x512xf32>)
      plan #graph.plan<L1, tile [16, 512]> -> (tensor<1000x512xf32>, tensor<1000x1xf32>) {
    %e = graph.exp %a : tensor<1000x512xf32>
    %s = graph.reduce %e <sum> axes [1] keepdims : (tensor<1000x512xf32>) -> tensor<1000x1xf32>
    %r = graph.sqrt %s : tensor<1000x1xf32>
    %c = graph.neg %e : tensor<1000x512xf32>
    graph.yield %c, %r : tensor<1000x512xf32>, tensor<1000x1xf32>
  }
  func.return %y, %z : tensor<1000x512xf32>, tensor<1000x1xf32>
}
