// RUN: tlf-opt %s --target npu -p "mem-plan,convert-mem-to-npu,tidy" -t npu | filecheck %s
// RUN: tlf-opt %s --target npu -p "mem-pipeline,mem-plan,convert-mem-to-npu,tidy" -t npu | filecheck %s --check-prefix AHEAD

// Rows by their indices, in one instruction: dimensions that are one at both ends and of
// indices are merged. What lies outside of the source along the columns is not read.
// CHECK: .engine dma_l3_l2 from=L3 to=L2 indexed=4
// CHECK: dma dma_l3_l2 dst=L2[{{.*}}](8) src=L3[{{.*}}](8) shape=(8) type=i64
// CHECK: dma dma_l3_l2 dst=L2[{{.*}}](32, 4) src=L3[{{.*}}](0, 4) shape=(8, 8) type=f32 index=L2[{{.*}}](8, 0):i64 gather=(64, 9) inside=(0:8, 0:{{.*}}) fill=0.0

// With several tiles in flight they come an iteration ahead, behind their indices, of
// which each iteration has its own.
// AHEAD:      dma dma_l3_l2 {{.*}} type=i64
// AHEAD:      dma dma_l3_l2 {{.*}} gather=(64, 9)
// AHEAD-NEXT: signal dma_l3_l2 s0
// AHEAD-NEXT: loop [[N:%.*]] = 0 to 3 step 1 {
// AHEAD-NEXT:   [[NEXT:%.*]] = add [[N]] 1
// AHEAD:        loop {{.*}} = [[NEXT]] to
// AHEAD:          dma dma_l3_l2 {{.*}} type=i64
// AHEAD:          dma dma_l3_l2 {{.*}} gather=(64, 9)
// AHEAD-NEXT:     signal dma_l3_l2 s0
// AHEAD-NEXT:   }
// AHEAD:        wait dma_l2_l3 s0
func.func @f(%x: memref<9x16xf32, "L3">, %n: memref<8xi64, "L3">, %y: memref<8x16xf32, "L3">)
    attributes {tlf.results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c24 = arith.constant 24 : index
  scf.for %j = %c0 to %c24 step %c8 {
    %i = mem.alloc : memref<8xi64, "L2">
    %a = mem.alloc : memref<8x8xf32, "L2">
    %s = mem.dma %n[0] to %i[0] size [8] : memref<8xi64, "L3"> to memref<8xi64, "L2">
    mem.wait %s
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
