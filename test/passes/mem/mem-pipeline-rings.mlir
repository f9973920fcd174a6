// RUN: tlf-opt %s --split-input-file --target npu-tiny -p "mem-pipeline,tidy" | filecheck %s

// Three rows of five are read in each iteration, and the next two have a place of their
// own: they are loaded ahead. The ring gets no slots.
// CHECK-LABEL: func.func @ahead
// CHECK:         [[R:%.*]] = mem.alloc : memref<5x8xf32, "L2">
// CHECK:         scf.for [[N:%.*]] =
// CHECK:           [[W:%.*]] = mem.window [[R]]{{\[}}[[P:%.*]], 0] size [2, 8] axis 0
// CHECK:           mem.dma %x{{.*}} to [[W]][0, 0] size [2, 8] ahead 1
// CHECK:           mem.window [[R]]{{.*}} size [3, 8] axis 0
func.func @ahead(%x: memref<20x8xf32, "L3">, %y: memref<20x8xf32, "L3">)
    attributes {tlf.results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c12 = arith.constant 12 : index
  %ring = mem.alloc : memref<5x8xf32, "L2">
  %f = memref.subview %ring[0, 0] [3, 8] [1, 1]
      : memref<5x8xf32, "L2"> to memref<3x8xf32, strided<[8, 1]>, "L2">
  %t0 = mem.dma %x[0, 0] to %f[0, 0] size [3, 8]
      : memref<20x8xf32, "L3"> to memref<3x8xf32, strided<[8, 1]>, "L2">
  mem.wait %t0
  scf.for %i = %c0 to %c12 step %c3 {
    %p = affine.apply affine_map<(d0) -> (d0 floordiv 3 * 2 + 3)> (%i)
    %n = mem.window %ring[%p, 0] size [2, 8] axis 0 : memref<5x8xf32, "L2">
        to memref<2x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">
    %t = mem.dma %x[%p, 0] to %n[0, 0] size [2, 8] : memref<20x8xf32, "L3">
        to memref<2x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">
    mem.wait %t
    %q = affine.apply affine_map<(d0) -> (d0 floordiv 3 * 2 + 2)> (%i)
    %w = mem.window %ring[%q, 0] size [3, 8] axis 0 : memref<5x8xf32, "L2">
        to memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">
    %u = mem.dma %w[0, 0] to %y[%q, 0] size [3, 8]
        : memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">
        to memref<20x8xf32, "L3">
    mem.wait %u
  } {stages = 2 : i64}
  func.return
}

// -----

// Of four rows, the next two would take one that the iteration before still reads.
// CHECK-LABEL: func.func @in_use
// CHECK-SAME:    #graph.remark<missed "mem-pipeline" "not prefetched: its window of the ring is in use" at "%ring">
// CHECK-NOT:     ahead 1
func.func @in_use(%x: memref<20x8xf32, "L3">, %y: memref<20x8xf32, "L3">)
    attributes {tlf.results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %ring = mem.alloc : memref<4x8xf32, "L2">
  %t0 = mem.dma %x[0, 0] to %ring[0, 0] size [4, 8]
      : memref<20x8xf32, "L3"> to memref<4x8xf32, "L2">
  mem.wait %t0
  scf.for %i = %c0 to %c8 step %c2 {
    %p = affine.apply affine_map<(d0) -> (d0 + 3)> (%i)
    %n = mem.window %ring[%p, 0] size [2, 8] axis 0 : memref<4x8xf32, "L2">
        to memref<2x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 4, d1)>, "L2">
    %t = mem.dma %x[%p, 0] to %n[0, 0] size [2, 8] : memref<20x8xf32, "L3">
        to memref<2x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 4, d1)>, "L2">
    mem.wait %t
    %q = affine.apply affine_map<(d0) -> (d0 + 2)> (%i)
    %w = mem.window %ring[%q, 0] size [3, 8] axis 0 : memref<4x8xf32, "L2">
        to memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 4, d1)>, "L2">
    %u = mem.dma %w[0, 0] to %y[%q, 0] size [3, 8]
        : memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 4, d1)>, "L2">
        to memref<20x8xf32, "L3">
    mem.wait %u
  } {stages = 2 : i64}
  func.return
}
