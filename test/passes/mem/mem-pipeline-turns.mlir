// RUN: tlf-opt %s --split-input-file --target npu -p mem-pipeline | filecheck %s

// What an iteration stores is what it loaded, and no other does: a sum in tiles.
// CHECK-LABEL: func.func @sums
// CHECK-NOT:   graph.remark
// CHECK:       mem.dma %y{{.*}} ahead 1
// CHECK:       mem.dma {{.*}} to %y
func.func @sums(%x: memref<8x8xf32, "L2">, %y: memref<24x16xf32, "L2">) {
  %zero = arith.constant 0 : index
  %rows = arith.constant 24 : index
  %columns = arith.constant 16 : index
  %eight = arith.constant 8 : index
  scf.for %i = %zero to %rows step %eight {
    scf.for %j = %zero to %columns step %eight {
      %sum = mem.alloc : memref<8x8xf32, "L1">
      %t0 = mem.dma %y[%i, %j] to %sum[0, 0] size [8, 8]
          : memref<24x16xf32, "L2"> to memref<8x8xf32, "L1">
      mem.wait %t0
      %t1 = mem.dma %sum[0, 0] to %y[%i, %j] size [8, 8]
          : memref<8x8xf32, "L1"> to memref<24x16xf32, "L2">
      mem.wait %t1
    } {stages = 2 : i64}
  } {stages = 2 : i64}
  func.return
}

// -----

// The next iteration would load what this one stores.
// CHECK-LABEL: func.func @overlapping
// CHECK-SAME:  "not prefetched: the loop writes what it is loaded from" at "%sum"
// CHECK-NOT:   ahead
func.func @overlapping(%y: memref<24xf32, "L2">) {
  %zero = arith.constant 0 : index
  %rows = arith.constant 16 : index
  %four = arith.constant 4 : index
  scf.for %i = %zero to %rows step %four {
    %sum = mem.alloc : memref<8xf32, "L1">
    %t0 = mem.dma %y[%i] to %sum[0] size [8]
        : memref<24xf32, "L2"> to memref<8xf32, "L1">
    mem.wait %t0
    %t1 = mem.dma %sum[0] to %y[%i] size [8]
        : memref<8xf32, "L1"> to memref<24xf32, "L2">
    mem.wait %t1
  } {stages = 2 : i64}
  func.return
}

// -----

// So it would where the two are at different places.
// CHECK-LABEL: func.func @shifted
// CHECK-SAME:  "not prefetched: the loop writes what it is loaded from" at "%sum"
// CHECK-NOT:   ahead
func.func @shifted(%y: memref<24xf32, "L2">) {
  %zero = arith.constant 0 : index
  %rows = arith.constant 16 : index
  %four = arith.constant 4 : index
  scf.for %i = %zero to %rows step %four {
    %sum = mem.alloc : memref<4xf32, "L1">
    %t0 = mem.dma %y[%i] to %sum[0] size [4]
        : memref<24xf32, "L2"> to memref<4xf32, "L1">
    mem.wait %t0
    %next = affine.apply affine_map<(d0) -> (d0 + 4)>(%i)
    %t1 = mem.dma %sum[0] to %y[%next] size [4]
        : memref<4xf32, "L1"> to memref<24xf32, "L2">
    mem.wait %t1
  } {stages = 2 : i64}
  func.return
}
