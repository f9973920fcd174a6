// RUN: tlf-opt %s --target npu -p mem-pipeline | filecheck %s

// A wait for indices and for another move: that for indices comes ahead alone.

// CHECK:      scf.for
// CHECK:      %[[S:.*]] = mem.dma %n[0] {{.*}} ahead 1
// CHECK-NEXT: mem.wait %[[S]]
// CHECK-NEXT: %[[T:.*]] = mem.dma_gather {{.*}} ahead 1
// CHECK-NEXT: %[[Q:.*]] = mem.dma %k
// CHECK-NEXT: mem.wait %[[Q]]
// CHECK-NEXT: mem.wait %[[T]]
func.func @f(%x: memref<9x16xf32, "L3">, %n: memref<8xi64, "L3">, %y: memref<8x16xf32, "L3">, %z: memref<8x8xf32, "L3">)
    attributes {tlf.results = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c24 = arith.constant 16 : index
  %k = mem.alloc : memref<8x8xf32, "L2">
  %k0 = mem.dma %x[0, 0] to %k[0, 0] size [8, 8] : memref<9x16xf32, "L3"> to memref<8x8xf32, "L2">
  mem.wait %k0
  scf.for %j = %c0 to %c24 step %c8 {
    %i = mem.alloc : memref<8xi64, "L2">
    %a = mem.alloc : memref<8x8xf32, "L2">
    %q = mem.dma %k[0, 0] to %z[0, 0] size [8, 8] : memref<8x8xf32, "L2"> to memref<8x8xf32, "L3">
    %s = mem.dma %n[0] to %i[0] size [8] : memref<8xi64, "L3"> to memref<8xi64, "L2">
    mem.wait %s, %q
    %t = mem.dma_gather %x[0, %j] axis 0 at %i to %a
        maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>]
        size [8, 8] fill 0.0
        : memref<9x16xf32, "L3">, memref<8xi64, "L2"> to memref<8x8xf32, "L2">
    mem.wait %t
    %u = mem.dma %a[0, 0] to %y[0, %j] size [8, 8]
        : memref<8x8xf32, "L2"> to memref<8x16xf32, "L3">
    mem.wait %u
  } {stages = 2 : i64}
  func.return
}
