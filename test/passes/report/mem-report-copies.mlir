// RUN: tlf-opt %s -p mem-report-copies --split-input-file | filecheck %s

// From L2 to L2 by way of L1, where nothing else is done with it.
// CHECK-LABEL: func.func @by_way_of
// CHECK-SAME:    missed "mem-report-copies" "%a is copied to %y within L2"
func.func @by_way_of(%y: memref<4xf32, "L2">) attributes {tlf.results = 1 : i64} {
  %a = mem.alloc : memref<4xf32, "L2">
  %n = mem.alloc : memref<4xf32, "L1">
  mem.fill 0.0 into %a : memref<4xf32, "L2">
  %t = mem.dma %a[0] to %n[0] size [4] : memref<4xf32, "L2"> to memref<4xf32, "L1">
  mem.wait %t
  %u = mem.dma %n[0] to %y[0] size [4] : memref<4xf32, "L1"> to memref<4xf32, "L2">
  mem.wait %u
  func.return
}

// -----

// An operation that only yields its element, here through a view.
// CHECK-LABEL: func.func @yields
// CHECK-SAME:    missed "mem-report-copies" "%a is copied to %b within L1"
func.func @yields(%y: memref<4xf32, "L2">) attributes {tlf.results = 1 : i64} {
  %a = mem.alloc : memref<8xf32, "L1">
  %b = mem.alloc : memref<4xf32, "L1">
  mem.fill 0.0 into %a : memref<8xf32, "L1">
  %v = memref.subview %a[2] [4] [1] : memref<8xf32, "L1"> to memref<4xf32, strided<[1], offset: 2>, "L1">
  mem.map ins(%v : memref<4xf32, strided<[1], offset: 2>, "L1">) outs(%b : memref<4xf32, "L1">) domain [4]
      maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
  ^bb0(%e: f32):
    mem.yield %e : f32
  }
  %u = mem.dma %b[0] to %y[0] size [4] : memref<4xf32, "L1"> to memref<4xf32, "L2">
  mem.wait %u
  func.return
}

// -----

// What is loaded and stored as it is.
// CHECK-LABEL: func.func @stored
// CHECK-SAME:    missed "mem-report-copies" "%a is copied to %y within L3"
func.func @stored(%x: tensor<4xf32>, %y: memref<4xf32, "L3">) attributes {tlf.results = 1 : i64} {
  %a = mem.alloc : memref<4xf32, "L3">
  mem.store %x to %a[0] : tensor<4xf32> to memref<4xf32, "L3">
  %v = mem.load %a[0] size [4] : memref<4xf32, "L3"> -> tensor<4xf32>
  mem.store %v to %y[0] : tensor<4xf32> to memref<4xf32, "L3">
  func.return
}

// -----

// An argument may have to be copied. What is put down farther away is brought back.
// CHECK-LABEL: func.func @none
// CHECK-SAME:    passed "mem-report-copies" "no computed value is copied within its level"
func.func @none(%x: memref<4xf32, "L2">, %z: memref<4xf32, "L2">, %y: memref<4xf32, "L2">) attributes {tlf.results = 2 : i64} {
  %n = mem.alloc : memref<4xf32, "L1">
  %t = mem.dma %x[0] to %n[0] size [4] : memref<4xf32, "L2"> to memref<4xf32, "L1">
  mem.wait %t
  %u = mem.dma %n[0] to %z[0] size [4] : memref<4xf32, "L1"> to memref<4xf32, "L2">
  mem.wait %u
  %a = mem.alloc : memref<4xf32, "L1">
  mem.fill 0.0 into %a : memref<4xf32, "L1">
  %r = mem.dma %a[0] to %y[0] size [4] : memref<4xf32, "L1"> to memref<4xf32, "L2">
  mem.wait %r
  %b = mem.alloc : memref<4xf32, "L1">
  %s = mem.dma %y[0] to %b[0] size [4] : memref<4xf32, "L2"> to memref<4xf32, "L1">
  mem.wait %s
  func.return
}
