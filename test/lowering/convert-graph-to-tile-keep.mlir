// RUN: tlf-opt %s --target npu-tiny -p convert-graph-to-tile --split-input-file --verify-diagnostics | filecheck %s

// What a group keeps stays in the level for the next one; what is returned as well is
// written, too.
// CHECK-LABEL: func.func @keep
// CHECK-NEXT:    [[X:%.*]] = tile.slice %x[0, 0]
// CHECK-NEXT:    [[A:%.*]] = graph.exp [[X]] : tensor<10x20xf32, #tile.encoding<L2>>
// CHECK-NEXT:    [[E:%.*]] = tile.empty : tensor<10x20xf32>
// CHECK-NEXT:    [[B:%.*]] = graph.tanh [[A]] : tensor<10x20xf32, #tile.encoding<L2>>
// CHECK-NEXT:    [[Y:%.*]] = tile.deslice [[B]] into [[E]][0, 0]
// CHECK-NEXT:    [[F:%.*]] = tile.empty : tensor<10x20xf32>
// CHECK-NEXT:    [[Z:%.*]] = tile.while () parallel mapping(loop) into([[G:%.*]] = [[F]] :
// CHECK-NEXT:      [[C:%.*]] = graph.neg [[B]]
// CHECK-NEXT:      tile.deslice [[C]] into [[G]][0, 0]
// CHECK:         func.return [[Y]], [[Z]]
func.func @keep(%x: tensor<10x20xf32>) -> (tensor<10x20xf32>, tensor<10x20xf32>) {
  %a = graph.group ins(%i = %x : tensor<10x20xf32>) plan #graph.plan<L2, tile [10, 20], keep [0]> -> (tensor<10x20xf32>) {
    %0 = graph.exp %i : tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  %y = graph.group ins(%i = %a : tensor<10x20xf32>) plan #graph.plan<L2, tile [10, 20], keep [0]> -> (tensor<10x20xf32>) {
    %0 = graph.tanh %i : tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  %z = graph.group ins(%i = %y : tensor<10x20xf32>) plan #graph.plan<L2, tile [10, 20]> -> (tensor<10x20xf32>) {
    %0 = graph.neg %i : tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  func.return %y, %z : tensor<10x20xf32>, tensor<10x20xf32>
}

// -----

func.func @several(%x: tensor<10x20xf32>) -> tensor<10x20xf32> {
  // expected-error@+1 {{expected one tile of results that are kept}}
  %y = graph.group ins(%i = %x : tensor<10x20xf32>) plan #graph.plan<L2, tile [5, 20], keep [0]> -> (tensor<10x20xf32>) {
    %0 = graph.exp %i : tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  func.return %y : tensor<10x20xf32>
}
