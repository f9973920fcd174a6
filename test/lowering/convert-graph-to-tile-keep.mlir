// RUN: tlf-opt %s --target npu-tiny -p convert-graph-to-tile --split-input-file | filecheck %s

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
  %a = graph.group ins(%i = %x : tensor<10x20xf32>) plan #graph.plan<L2, tile [10, 20], retain [0]> -> (tensor<10x20xf32>) {
    %0 = graph.exp %i : tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  %y = graph.group ins(%i = %a : tensor<10x20xf32>) plan #graph.plan<L2, tile [10, 20], retain [0], resident [0]> -> (tensor<10x20xf32>) {
    %0 = graph.tanh %i : tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  %z = graph.group ins(%i = %y : tensor<10x20xf32>) plan #graph.plan<L2, tile [10, 20], resident [0]> -> (tensor<10x20xf32>) {
    %0 = graph.neg %i : tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  func.return %y, %z : tensor<10x20xf32>, tensor<10x20xf32>
}

// -----

// Several tiles are put together in the level; the last one has room there. Tiles of
// the next group are views.
// CHECK-LABEL: func.func @tiles
// CHECK-NEXT:    [[E:%.*]] = tile.empty : tensor<12x20xf32, #tile.encoding<L2>>
// CHECK-NEXT:    [[A:%.*]] = tile.while (%i = 0 to 10 step 4) parallel mapping(loop) into([[D:%.*]] = [[E]] :
// CHECK:           tile.deslice {{%.*}} into [[D]][%i, 0]
// CHECK:         [[B:%.*]] = tile.slice [[A]][0, 0] : {{.*}} -> tensor<10x20xf32, #tile.encoding<L2>>
// CHECK:         tile.while ([[I:%.*]] = 0 to 10 step 5)
// CHECK-NEXT:      tile.slice [[B]]{{\[}}[[I]], 0] : tensor<10x20xf32, #tile.encoding<L2>> -> tensor<5x20xf32, #tile.encoding<L2>>
func.func @tiles(%x: tensor<10x20xf32>) -> tensor<10x20xf32> {
  %a = graph.group ins(%i = %x : tensor<10x20xf32>) plan #graph.plan<L2, tile [4, 20], retain [0]> -> (tensor<10x20xf32>) {
    %0 = graph.exp %i : tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  %y = graph.group ins(%i = %a : tensor<10x20xf32>) plan #graph.plan<L2, tile [5, 20], resident [0]> -> (tensor<10x20xf32>) {
    %0 = graph.tanh %i : tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  func.return %y : tensor<10x20xf32>
}

// -----

// A view that reaches out of what is kept says what is there.
// CHECK-LABEL: func.func @halo
// CHECK:         tile.while
// CHECK:         tile.while ([[I:%.*]] = 0 to 10 step 5)
// CHECK-NEXT:      [[O:%.*]] = affine.apply affine_map<(d0) -> ((d0 + -1))> ([[I]])
// CHECK-NEXT:      tile.slice {{%.*}}[0, 0, [[O]], 0] fill 0xff800000 : f32 : {{.*}} -> tensor<1x1x7x20xf32, #tile.encoding<L2>>
func.func @halo(%x: tensor<1x1x10x20xf32>) -> tensor<1x1x10x20xf32> {
  %a = graph.group ins(%i = %x : tensor<1x1x10x20xf32>) plan #graph.plan<L2, tile [1, 1, 5, 20], retain [0]> -> (tensor<1x1x10x20xf32>) {
    %0 = graph.exp %i : tensor<1x1x10x20xf32>
    graph.yield %0 : tensor<1x1x10x20xf32>
  }
  %y = graph.group ins(%i = %a : tensor<1x1x10x20xf32>) plan #graph.plan<L2, tile [1, 1, 5, 20], resident [0]> -> (tensor<1x1x10x20xf32>) {
    %0 = graph.max_pool2d %i kernel [3, 3] strides [1, 1] padding [1, 1, 1, 1] : (tensor<1x1x10x20xf32>) -> tensor<1x1x10x20xf32>
    graph.yield %0 : tensor<1x1x10x20xf32>
  }
  func.return %y : tensor<1x1x10x20xf32>
}

// -----

// Who does not hold what is kept reads it where it is stored, too.
// CHECK-LABEL: func.func @hold
// CHECK:         [[W:%.*]], [[N:%.*]] = tile.while (%i = 0 to 10 step 5)
// CHECK:         tile.while ([[I:%.*]] = 0 to 10 step 5)
// CHECK-NEXT:      tile.slice [[N]]{{\[}}[[I]], 0]
// CHECK:         tile.while ([[J:%.*]] = 0 to 10 step 2)
// CHECK-NEXT:      tile.slice [[W]]{{\[}}[[J]], 0] : tensor<10x20xf32> ->
func.func @hold(%x: tensor<10x20xf32>) -> (tensor<10x20xf32>, tensor<10x20xf32>) {
  %a = graph.group ins(%i = %x : tensor<10x20xf32>) plan #graph.plan<L2, tile [5, 20], retain [0]> -> (tensor<10x20xf32>) {
    %0 = graph.exp %i : tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  %b = graph.group ins(%i = %a : tensor<10x20xf32>) plan #graph.plan<L2, tile [5, 20], resident [0]> -> (tensor<10x20xf32>) {
    %0 = graph.tanh %i : tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  %c = graph.group ins(%i = %a : tensor<10x20xf32>) plan #graph.plan<L2, tile [2, 20]> -> (tensor<10x20xf32>) {
    %0 = graph.neg %i : tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  func.return %b, %c : tensor<10x20xf32>, tensor<10x20xf32>
}

// -----

// What is held and was not kept is brought near before the loops.
// CHECK-LABEL: func.func @bring
// CHECK-NEXT:    [[H:%.*]] = tile.slice %x[0, 0] : {{.*}} -> tensor<10x20xf32, #tile.encoding<L2>>
// CHECK:         tile.while (%i = 0 to 10 step 5)
// CHECK-NEXT:      tile.slice [[H]][%i, 0]
func.func @bring(%x: tensor<10x20xf32>) -> tensor<10x20xf32> {
  %a = graph.group ins(%i = %x : tensor<10x20xf32>) plan #graph.plan<L2, tile [5, 20], resident [0]> -> (tensor<10x20xf32>) {
    %0 = graph.exp %i : tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  func.return %a : tensor<10x20xf32>
}

// -----

// Groups that hold an operand share it. One that reads it otherwise does not, and from one on
// that is to reload it, they share what that brings.
// CHECK-LABEL: func.func @share
// CHECK-NEXT:    [[H:%.*]] = tile.slice %x[0, 0]
// CHECK:         graph.exp [[H]]
// CHECK:         [[O:%.*]] = tile.slice %x[0, 0]
// CHECK:         graph.tanh [[O]]
// CHECK-NOT:     tile.slice %x
// CHECK:         graph.neg [[H]]
// CHECK:         [[R:%.*]] = tile.slice %x[0, 0]
// CHECK:         graph.abs [[R]]
// CHECK-NOT:     tile.slice %x
// CHECK:         graph.sqrt [[R]]
!t = tensor<10x20xf32>
func.func @share(%x: !t) -> (!t, !t, !t, !t, !t) {
  %a = graph.group ins(%i = %x : !t) plan #graph.plan<L2, tile [10, 20], resident [0]> -> (!t) {
    %0 = graph.exp %i : !t
    graph.yield %0 : !t
  }
  %b = graph.group ins(%i = %x : !t) plan #graph.plan<L2, tile [10, 20]> -> (!t) {
    %0 = graph.tanh %i : !t
    graph.yield %0 : !t
  }
  %c = graph.group ins(%i = %x : !t) plan #graph.plan<L2, tile [10, 20], resident [0]> -> (!t) {
    %0 = graph.neg %i : !t
    graph.yield %0 : !t
  }
  %d = graph.group ins(%i = %x : !t) plan #graph.plan<L2, tile [10, 20], resident [0], reload [0]> -> (!t) {
    %0 = graph.abs %i : !t
    graph.yield %0 : !t
  }
  %e = graph.group ins(%i = %x : !t) plan #graph.plan<L2, tile [10, 20], resident [0]> -> (!t) {
    %0 = graph.sqrt %i : !t
    graph.yield %0 : !t
  }
  func.return %a, %b, %c, %d, %e : !t, !t, !t, !t, !t
}

// -----

// A result that is kept, and reloaded later on, is stored for that.
// CHECK-LABEL: func.func @again
// CHECK:         [[A:%.*]] = graph.exp
// CHECK:         [[S:%.*]] = tile.deslice [[A]]
// CHECK:         graph.tanh [[A]]
// CHECK:         [[R:%.*]] = tile.slice [[S]][0, 0]
// CHECK:         graph.neg [[R]]
// CHECK:         graph.abs [[R]]
!t = tensor<10x20xf32>
func.func @again(%x: !t) -> (!t, !t, !t) {
  %a = graph.group ins(%i = %x : !t) plan #graph.plan<L2, tile [10, 20], retain [0]> -> (!t) {
    %0 = graph.exp %i : !t
    graph.yield %0 : !t
  }
  %b = graph.group ins(%i = %a : !t) plan #graph.plan<L2, tile [10, 20], resident [0]> -> (!t) {
    %0 = graph.tanh %i : !t
    graph.yield %0 : !t
  }
  %c = graph.group ins(%i = %a : !t) plan #graph.plan<L2, tile [10, 20], resident [0], reload [0]> -> (!t) {
    %0 = graph.neg %i : !t
    graph.yield %0 : !t
  }
  %d = graph.group ins(%i = %a : !t) plan #graph.plan<L2, tile [10, 20], resident [0]> -> (!t) {
    %0 = graph.abs %i : !t
    graph.yield %0 : !t
  }
  func.return %b, %c, %d : !t, !t, !t
}
