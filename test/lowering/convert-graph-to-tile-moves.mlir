// RUN: tlf-opt %s --target npu-tiny -p convert-graph-to-tile | filecheck %s

// An operand that is broadcast is cut along the axes that it has, and outside of the
// loops over others.
// CHECK-LABEL: func.func @broadcast
// CHECK:         tile.while ([[I:%.*]] = 0 to 10 step 4) parallel
// CHECK-NEXT:      [[A:%.*]] = tile.slice %x[[[I]], 0] : tensor<10x1xf32> -> tensor<4x1xf32, #tile.encoding<L1>>
// CHECK-NEXT:      tile.while ([[J:%.*]] = 0 to 20 step 8) parallel
// CHECK-NEXT:      [[B:%.*]] = tile.slice %r[[[J]]] : tensor<20xf32> -> tensor<8xf32, #tile.encoding<L1>>
// CHECK-NEXT:      [[S:%.*]] = graph.add [[A]], [[B]] : {{.*}} -> tensor<4x8xf32, #tile.encoding<L1>>
// CHECK-NEXT:      tile.deslice [[S]] into %{{.*}}[[[I]], [[J]]]
func.func @broadcast(%x: tensor<10x1xf32>, %r: tensor<20xf32>) -> tensor<10x20xf32> {
  %y = graph.group ins(%a = %x, %b = %r : tensor<10x1xf32>, tensor<20xf32>) plan #graph.plan<L1, tile [4, 8]> -> (tensor<10x20xf32>) {
    %0 = graph.add %a, %b : (tensor<10x1xf32>, tensor<20xf32>) -> tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  func.return %y : tensor<10x20xf32>
}

// A transposition reads its tile elsewhere; what comes before it is computed there.
// CHECK-LABEL: func.func @transpose
// CHECK:         tile.while ([[I:%.*]] = 0 to 20 step 8, [[J:%.*]] = 0 to 10 step 4) parallel
// CHECK-NEXT:      [[A:%.*]] = tile.slice %x[[[J]], [[I]]] : tensor<10x20xf32> -> tensor<4x8xf32, #tile.encoding<L1>>
// CHECK-NEXT:      [[B:%.*]] = graph.exp [[A]]
// CHECK-NEXT:      [[C:%.*]] = graph.transpose [[B]] permutation [1, 0] : {{.*}} -> tensor<8x4xf32, #tile.encoding<L1>>
// CHECK-NEXT:      tile.deslice [[C]] into %{{.*}}[[[I]], [[J]]]
func.func @transpose(%x: tensor<10x20xf32>) -> tensor<20x10xf32> {
  %y = graph.group ins(%a = %x : tensor<10x20xf32>) plan #graph.plan<L1, tile [8, 4]> -> (tensor<20x10xf32>) {
    %0 = graph.exp %a : tensor<10x20xf32>
    %1 = graph.transpose %0 permutation [1, 0] : (tensor<10x20xf32>) -> tensor<20x10xf32>
    graph.yield %1 : tensor<20x10xf32>
  }
  func.return %y : tensor<20x10xf32>
}

// Every result has a destination, and every tile writes a piece of each, in the order in
// which they are computed.
// CHECK-LABEL: func.func @results
// CHECK-NEXT:    [[E:%.*]] = tile.empty : tensor<10xf32>
// CHECK-NEXT:    [[F:%.*]] = tile.empty : tensor<10x20xf32>
// CHECK-NEXT:    [[Y:%.*]], [[Z:%.*]] = tile.while ([[I:%.*]] = 0 to 10 step 4) parallel mapping(loop) into([[O:%.*]] = [[E]] : tensor<10xf32>, [[P:%.*]] = [[F]] : tensor<10x20xf32>) {
// CHECK-NEXT:      [[A:%.*]] = tile.slice %x[[[I]], 0]
// CHECK-NEXT:      [[X:%.*]] = graph.exp [[A]]
// CHECK-NEXT:      [[S:%.*]] = graph.reduce [[X]]
// CHECK-NEXT:      [[D:%.*]] = tile.deslice [[X]] into [[P]][[[I]], 0]
// CHECK-NEXT:      [[C:%.*]] = tile.deslice [[S]] into [[O]][[[I]]]
// CHECK-NEXT:      tile.yield [[C]], [[D]]
// CHECK:         func.return [[Z]], [[Y]]
func.func @results(%x: tensor<10x20xf32>) -> (tensor<10x20xf32>, tensor<10xf32>) {
  %s, %e = graph.group ins(%a = %x : tensor<10x20xf32>) plan #graph.plan<L1, tile [4]> -> (tensor<10xf32>, tensor<10x20xf32>) {
    %0 = graph.exp %a : tensor<10x20xf32>
    %1 = graph.reduce %0 <sum> axes [1] : (tensor<10x20xf32>) -> tensor<10xf32>
    graph.yield %1, %0 : tensor<10xf32>, tensor<10x20xf32>
  }
  func.return %e, %s : tensor<10x20xf32>, tensor<10xf32>
}

// An input that is needed twice is cut once, and one cut at two places twice.
// CHECK-LABEL: func.func @reuse
// CHECK:         tile.while ([[I:%.*]] = 0 to 20 step 8, [[J:%.*]] = 0 to 20 step 4) parallel
// CHECK-NEXT:      [[A:%.*]] = tile.slice %x[[[I]], [[J]]] : tensor<20x20xf32> -> tensor<8x4xf32, #tile.encoding<L1>>
// CHECK-NEXT:      [[B:%.*]] = graph.exp [[A]]
// CHECK-NEXT:      [[C:%.*]] = tile.slice %x[[[J]], [[I]]] : tensor<20x20xf32> -> tensor<4x8xf32, #tile.encoding<L1>>
// CHECK-NEXT:      [[D:%.*]] = graph.transpose [[C]]
// CHECK-NEXT:      [[F:%.*]] = graph.mul [[B]], [[A]]
// CHECK-NEXT:      graph.add [[F]], [[D]]
func.func @reuse(%x: tensor<20x20xf32>) -> tensor<20x20xf32> {
  %y = graph.group ins(%a = %x : tensor<20x20xf32>) plan #graph.plan<L1, tile [8, 4]> -> (tensor<20x20xf32>) {
    %0 = graph.exp %a : tensor<20x20xf32>
    %1 = graph.transpose %a permutation [1, 0] : (tensor<20x20xf32>) -> tensor<20x20xf32>
    %2 = graph.mul %0, %a : (tensor<20x20xf32>, tensor<20x20xf32>) -> tensor<20x20xf32>
    %3 = graph.add %2, %1 : (tensor<20x20xf32>, tensor<20x20xf32>) -> tensor<20x20xf32>
    graph.yield %3 : tensor<20x20xf32>
  }
  func.return %y : tensor<20x20xf32>
}

// An integer matrix is summed up from an integer zero.
// CHECK-LABEL: func.func @integers
// CHECK:         tile.fill 0 : i32 : tensor<4xi32, #tile.encoding<L1>>
// CHECK:         tile.slice %x[{{.*}}] fill 0 : i32 :
func.func @integers(%x: tensor<10x20xi32>) -> tensor<10xi32> {
  %y = graph.group ins(%a = %x : tensor<10x20xi32>) plan #graph.plan<L1, tile [4], reduce [7]> -> (tensor<10xi32>) {
    %0 = graph.reduce %a <sum> axes [1] : (tensor<10x20xi32>) -> tensor<10xi32>
    graph.yield %0 : tensor<10xi32>
  }
  func.return %y : tensor<10xi32>
}
