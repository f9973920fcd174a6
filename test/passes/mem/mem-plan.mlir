// RUN: tlf-opt %s --split-input-file --target npu-tiny -p mem-plan | filecheck %s
// RUN: tlf-opt %s --split-input-file --target npu-tiny -p "mem-plan{share=true}" | filecheck %s --check-prefix SHARE

// Arguments are aligned in the outermost level, one after the other.
// CHECK-LABEL: func.func @arguments
// CHECK-SAME: tlf.arguments = array<i64: 0, 512>
// CHECK-SAME: tlf.peak = {L1 = 0 : i64, L2 = 0 : i64, L3 = 528 : i64}
func.func @arguments(%x: memref<100xf32, "L3">, %y: memref<4xf32, "L3">) {
  func.return
}

// -----

// Constants come after the arguments, then allocations of the outermost level.
// CHECK: "memref.global"
// CHECK-SAME: tlf.offset = 512 : i64
"memref.global"() <{sym_name = "c", sym_visibility = "private", type = memref<4xf32, "L3">,
    initial_value = dense<1.0> : tensor<4xf32>}> : () -> ()

// CHECK-LABEL: func.func @constants
// CHECK-SAME: L3 = 784 : i64
func.func @constants(%x: memref<128xf32, "L3">) {
  // CHECK: mem.alloc at 768
  %0 = mem.alloc : memref<4xf32, "L3">
  mem.fill 0.0 into %0 : memref<4xf32, "L3">
  func.return
}

// -----

// Buffers that are not live together share bytes only if they have to.
// CHECK-LABEL: func.func @dead
// CHECK-SAME: L1 = 784 : i64
// SHARE-LABEL: func.func @dead
// SHARE-SAME: L1 = 400 : i64
func.func @dead() {
  // CHECK: mem.alloc at 0
  // CHECK: mem.alloc at 448
  // SHARE: mem.alloc at 0
  // SHARE: mem.alloc at 0
  %0 = mem.alloc : memref<100xf32, "L1">
  mem.fill 0.0 into %0 : memref<100xf32, "L1">
  %1 = mem.alloc : memref<84xf32, "L1">
  mem.fill 0.0 into %1 : memref<84xf32, "L1">
  func.return
}

// -----

// Here they have to: each fills most of L1.
// CHECK-LABEL: func.func @full
// CHECK-SAME: L1 = 6400 : i64
func.func @full() {
  // CHECK: mem.alloc at 0
  // CHECK: mem.alloc at 0
  %0 = mem.alloc : memref<1600xf32, "L1">
  mem.fill 0.0 into %0 : memref<1600xf32, "L1">
  %1 = mem.alloc : memref<1600xf32, "L1">
  mem.fill 0.0 into %1 : memref<1600xf32, "L1">
  func.return
}

// -----

// Engines do not wait for each other where that can be avoided: what comes into the second
// buffer, and into the third, does not wait for the move that leaves right before.
// CHECK-LABEL: func.func @lately
// CHECK-SAME: L1 = 6400 : i64
func.func @lately() {
  // CHECK: mem.alloc at [[A:0|3200]] : memref<800xf32, "L1">
  // CHECK: mem.alloc at {{0|3200}} : memref<800xf32, "L1">
  // CHECK: mem.alloc at [[A]] : memref<800xf32, "L1">
  %far = mem.alloc : memref<800xf32, "L2">
  %0 = mem.alloc : memref<800xf32, "L1">
  %1 = mem.dma %far[0] to %0[0] size [800] : memref<800xf32, "L2"> to memref<800xf32, "L1">
  mem.wait %1
  %2 = mem.dma %0[0] to %far[0] size [800] : memref<800xf32, "L1"> to memref<800xf32, "L2">
  mem.wait %2
  %3 = mem.alloc : memref<800xf32, "L1">
  %4 = mem.dma %far[0] to %3[0] size [800] : memref<800xf32, "L2"> to memref<800xf32, "L1">
  mem.wait %4
  %5 = mem.dma %3[0] to %far[0] size [800] : memref<800xf32, "L1"> to memref<800xf32, "L2">
  mem.wait %5
  %6 = mem.alloc : memref<800xf32, "L1">
  %7 = mem.dma %far[0] to %6[0] size [800] : memref<800xf32, "L2"> to memref<800xf32, "L1">
  mem.wait %7
  func.return
}

// Where engines wait for nothing, the lowest place is as good as any.
// CHECK-LABEL: func.func @calmly
// CHECK-SAME: L1 = 3200 : i64
func.func @calmly() {
  // CHECK: mem.alloc at 0
  // CHECK: mem.alloc at 0
  // CHECK: mem.alloc at 0
  %0 = mem.alloc : memref<800xf32, "L1">
  mem.fill 0.0 into %0 : memref<800xf32, "L1">
  %1 = mem.alloc : memref<800xf32, "L1">
  mem.fill 0.0 into %1 : memref<800xf32, "L1">
  %2 = mem.alloc : memref<800xf32, "L1">
  mem.fill 0.0 into %2 : memref<800xf32, "L1">
  func.return
}

// -----

// A buffer used in a loop, through a view, is live in all of it.
// SHARE-LABEL: func.func @loop
// SHARE-SAME: L1 = 116 : i64
func.func @loop() {
  %from = arith.constant 0 : index
  %to = arith.constant 8 : index
  %step = arith.constant 1 : index
  // SHARE: mem.alloc at 64
  // SHARE: mem.alloc at 0
  %0 = mem.alloc : memref<13xf32, "L1">
  %view = memref.subview %0[1] [4] [1]
      : memref<13xf32, "L1"> to memref<4xf32, strided<[1], offset: 1>, "L1">
  scf.for %i = %from to %to step %step {
    mem.fill 0.0 into %view : memref<4xf32, strided<[1], offset: 1>, "L1">
    %1 = mem.alloc : memref<14xf32, "L1">
    mem.fill 0.0 into %1 : memref<14xf32, "L1">
  }
  func.return
}

// -----

// A buffer is live until the wait for a move from it.
// SHARE-LABEL: func.func @move
// SHARE-SAME: L1 = 116 : i64
func.func @move(%y: memref<13xf32, "L3">) {
  // SHARE: mem.alloc at 64 : memref<13xf32, "L1">
  // SHARE: mem.alloc at 0 : memref<14xf32, "L1">
  // SHARE: mem.alloc at 0 : memref<12xf32, "L1">
  %0 = mem.alloc : memref<13xf32, "L1">
  %1 = mem.alloc : memref<14xf32, "L1">
  %2 = mem.alloc : memref<12xf32, "L1">
  %3 = mem.alloc : memref<13xf32, "L2">
  mem.fill 0.0 into %0 : memref<13xf32, "L1">
  %t = mem.dma %0[0] to %3[0] size [13] : memref<13xf32, "L1"> to memref<13xf32, "L2">
  mem.fill 0.0 into %1 : memref<14xf32, "L1">
  mem.wait %t
  mem.fill 0.0 into %2 : memref<12xf32, "L1">
  func.return
}

// -----

// Where buffers do not fit, a wait comes before more is allocated.
// CHECK-LABEL: func.func @early
// CHECK-SAME: L1 = 8192 : i64
func.func @early(%y: memref<1024xf32, "L3">) {
  // CHECK: mem.dma %0
  // CHECK-NEXT: mem.wait
  // CHECK-NEXT: mem.alloc at {{[0-9]+}} : memref<1024xf32, "L1">
  // CHECK-NOT: mem.wait
  %far = mem.alloc : memref<1024xf32, "L2">
  %0 = mem.alloc : memref<1024xf32, "L1">
  mem.fill 0.0 into %0 : memref<1024xf32, "L1">
  %t = mem.dma %0[0] to %far[0] size [1024]
      : memref<1024xf32, "L1"> to memref<1024xf32, "L2">
  %1 = mem.alloc : memref<1024xf32, "L1">
  %2 = mem.alloc : memref<1024xf32, "L1">
  mem.fill 0.0 into %1 : memref<1024xf32, "L1">
  mem.fill 0.0 into %2 : memref<1024xf32, "L1">
  mem.fill 1.0 into %1 : memref<1024xf32, "L1">
  mem.wait %t
  func.return
}

// -----

// Buffers of one loop do not share bytes where the loop has room, those of two loops do:
// what one iteration loads does not wait for what the one before computes on.
// CHECK-LABEL: func.func @loops
// CHECK-SAME: L1 = 6144 : i64
func.func @loops() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  scf.for %i = %zero to %four step %one {
    // CHECK: mem.alloc at 0
    // CHECK: mem.alloc at 2048
    %0 = mem.alloc : memref<512xf32, "L1">
    mem.fill 0.0 into %0 : memref<512xf32, "L1">
    %1 = mem.alloc : memref<512xf32, "L1">
    mem.fill 0.0 into %1 : memref<512xf32, "L1">
  }
  scf.for %i = %zero to %four step %one {
    // CHECK: mem.alloc at 0
    // CHECK: mem.alloc at 4096
    %2 = mem.alloc : memref<1024xf32, "L1">
    mem.fill 0.0 into %2 : memref<1024xf32, "L1">
    %3 = mem.alloc : memref<512xf32, "L1">
    mem.fill 0.0 into %3 : memref<512xf32, "L1">
  }
  func.return
}
