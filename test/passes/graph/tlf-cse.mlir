// RUN: tlf-opt %s -p tlf-cse --split-input-file | filecheck %s

// Equal operations become one; unused ones go.

// CHECK-LABEL: func.func @equal
// CHECK-NEXT:    [[SUM:%.*]] = arith.addi %a, %b : i32
// CHECK-NEXT:    [[OTHER:%.*]] = arith.addi %a, %b overflow<nsw> : i32
// CHECK-NEXT:    "test.op"([[SUM]], [[SUM]], [[OTHER]])
func.func @equal(%a: i32, %b: i32) {
  %0 = arith.addi %a, %b : i32
  %unused = arith.muli %a, %b : i32
  %1 = arith.addi %a, %b : i32
  %2 = arith.addi %a, %b overflow<nsw> : i32
  "test.op"(%0, %1, %2) : (i32, i32, i32) -> ()
  func.return
}

// -----

// Loops are equal if their bodies are, whatever the names inside.

// CHECK-LABEL: func.func @loops
// CHECK-COUNT-2: scf.for
// CHECK-NOT:     scf.for
func.func @loops(%n: index, %x: f32) -> (f32, f32, f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0 = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (f32) {
    %r = arith.addf %a, %x : f32
    scf.yield %r : f32
  }
  %1 = scf.for %j = %zero to %n step %one iter_args(%b = %x) -> (f32) {
    %s = arith.addf %b, %x : f32
    scf.yield %s : f32
  }
  %2 = scf.for %k = %zero to %n step %one iter_args(%c = %x) -> (f32) {
    %t = arith.addf %x, %c : f32
    scf.yield %t : f32
  }
  func.return %0, %1, %2 : f32, f32, f32
}

// -----

// A value is reused inside regions that see it, and not after the region it is in.

// CHECK-LABEL: func.func @scopes
// CHECK-NEXT:    [[SUM:%.*]] = arith.addi %a, %a
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      [[PRODUCT:%.*]] = arith.muli %a, %a
// CHECK-NEXT:      "test.op"([[SUM]], [[PRODUCT]])
// CHECK:         [[PRODUCT2:%.*]] = arith.muli %a, %a
// CHECK-NEXT:    "test.op"([[SUM]], [[PRODUCT2]])
func.func @scopes(%c: i1, %a: i32) {
  %0 = arith.addi %a, %a : i32
  scf.if %c {
    %1 = arith.addi %a, %a : i32
    %2 = arith.muli %a, %a : i32
    "test.op"(%1, %2) : (i32, i32) -> ()
  }
  %3 = arith.muli %a, %a : i32
  "test.op"(%0, %3) : (i32, i32) -> ()
  func.return
}

// -----

// Loads are merged up to the next write; each allocation stays.

// CHECK-LABEL: func.func @memory
// CHECK-COUNT-2: memref.alloc
// CHECK:         [[FIRST:%.*]] = memref.load %m[]
// CHECK-NEXT:    memref.store %x, %m[]
// CHECK-NEXT:    [[SECOND:%.*]] = memref.load %m[]
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      memref.store
// CHECK:         [[THIRD:%.*]] = memref.load %m[]
// CHECK-NEXT:    "test.op"([[FIRST]], [[FIRST]], [[SECOND]], [[THIRD]]
func.func @memory(%m: memref<f32>, %x: f32, %c: i1) {
  %p = memref.alloc() : memref<f32>
  %q = memref.alloc() : memref<f32>
  %0 = memref.load %m[] : memref<f32>
  %1 = memref.load %m[] : memref<f32>
  memref.store %x, %m[] : memref<f32>
  %2 = memref.load %m[] : memref<f32>
  scf.if %c {
    memref.store %x, %p[] : memref<f32>
  }
  %3 = memref.load %m[] : memref<f32>
  "test.op"(%0, %1, %2, %3, %p, %q)
      : (f32, f32, f32, f32, memref<f32>, memref<f32>) -> ()
  func.return
}

// -----

// One block's values are not taken for another's, nor across functions.

// CHECK-LABEL: func.func @blocks
// CHECK-COUNT-2: arith.addi
func.func @blocks(%c: i1, %a: i32) -> i32 {
  cf.cond_br %c, ^left, ^right
^left:
  %0 = arith.addi %a, %a : i32
  func.return %0 : i32
^right:
  %1 = arith.addi %a, %a : i32
  func.return %1 : i32
}

// CHECK-LABEL: func.func @constants
// CHECK-NEXT: arith.constant 1 : i32
func.func @constants() -> i32 {
  %0 = arith.constant 1 : i32
  func.return %0 : i32
}

// -----

// What is brought to another memory is shared while it is needed there, be it as a view. It is
// brought again where something has come to be there since its last use.

!near = tensor<8xf32, #tile.encoding<L2>>
!tile = tensor<4xf32, #tile.encoding<L1>>

// CHECK-LABEL: func.func @moves
// CHECK-NEXT:    [[FIRST:%.*]] = tile.slice %x[0]
// CHECK-NEXT:    [[HALF:%.*]] = tile.slice [[FIRST]][4]
// CHECK-NEXT:    "test.op"([[FIRST]])
// CHECK-NEXT:    [[OTHER:%.*]] = tile.slice %y[0]
// CHECK-NEXT:    "test.op"([[FIRST]], [[HALF]], [[OTHER]])
// CHECK-NEXT:    [[SECOND:%.*]] = tile.slice %y[4]
// CHECK-NEXT:    "test.op"([[SECOND]])
// CHECK-NEXT:    [[THIRD:%.*]] = tile.slice %x[0]
// CHECK-NEXT:    "test.op"([[THIRD]])
// CHECK-NEXT:    "test.op"([[THIRD]])
func.func @moves(%x: tensor<8xf32>, %y: tensor<8xf32>) {
  %0 = tile.slice %x[0] : tensor<8xf32> -> !near
  %1 = tile.slice %0[4] : !near -> tensor<4xf32, #tile.encoding<L2>>
  "test.op"(%0) : (!near) -> ()
  %2 = tile.slice %y[0] : tensor<8xf32> -> !near
  %3 = tile.slice %x[0] : tensor<8xf32> -> !near
  "test.op"(%3, %1, %2) : (!near, tensor<4xf32, #tile.encoding<L2>>, !near) -> ()
  %4 = tile.slice %y[4] : tensor<8xf32> -> !near
  "test.op"(%4) : (!near) -> ()
  %5 = tile.slice %x[0] : tensor<8xf32> -> !near
  "test.op"(%5) : (!near) -> ()
  %6 = tile.slice %x[0] : tensor<8xf32> -> !near
  "test.op"(%6) : (!near) -> ()
  func.return
}

// All of a loop needs what one of its iterations does. What is brought before a loop, and not
// needed in it yet, does not stay for it, nor does what comes after get what is in it.

// CHECK-LABEL: func.func @loop
// CHECK-NEXT:    [[NEAR:%.*]] = tile.slice %x[0]
// CHECK-NEXT:    [[EARLY:%.*]] = tile.slice [[NEAR]][0]
// CHECK-NEXT:    "test.op"([[EARLY]])
// CHECK-NEXT:    [[BEFORE:%.*]] = tile.slice [[NEAR]][4]
// CHECK-NEXT:    tile.while
// CHECK-NEXT:      "test.op"([[BEFORE]])
// CHECK-NEXT:      [[INSIDE:%.*]] = tile.slice [[NEAR]][0]
// CHECK-NEXT:      "test.op"([[INSIDE]])
// CHECK-NEXT:      "test.op"([[BEFORE]])
// CHECK-NEXT:    }
// CHECK-NEXT:    [[AFTER:%.*]] = tile.slice [[NEAR]][0]
// CHECK-NEXT:    "test.op"([[AFTER]])
func.func @loop(%x: tensor<8xf32>) {
  %0 = tile.slice %x[0] : tensor<8xf32> -> !near
  %1 = tile.slice %0[0] : !near -> !tile
  "test.op"(%1) : (!tile) -> ()
  %2 = tile.slice %0[4] : !near -> !tile
  tile.while (%i = 0 to 8 step 4) sequential mapping(loop) {
    "test.op"(%2) : (!tile) -> ()
    %3 = tile.slice %0[0] : !near -> !tile
    "test.op"(%3) : (!tile) -> ()
    %4 = tile.slice %0[4] : !near -> !tile
    "test.op"(%4) : (!tile) -> ()
    tile.yield
  }
  %5 = tile.slice %0[0] : !near -> !tile
  "test.op"(%5) : (!tile) -> ()
  func.return
}
