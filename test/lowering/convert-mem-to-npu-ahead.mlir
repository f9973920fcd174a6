// RUN: tlf-opt %s --target npu -p "mem-pipeline,mem-plan,convert-mem-to-npu,canonicalize,tlf-cse" | filecheck %s
// RUN: tlf-opt %s --target npu -p "mem-pipeline,mem-plan,convert-mem-to-npu,tidy" -t npu | filecheck %s --check-prefix TEXT

// Loads are issued two iterations ahead, those of the first two before the loop, with
// their signals and waits. A slot is loaded again when it has been read three
// iterations before: the first three loads have a signal each from the start.
// CHECK:      npu.program @copy semaphores 2 {
// CHECK:        npu.signal "dma_l2_l1" 1
// CHECK-NEXT:   npu.signal "dma_l2_l1" 1
// CHECK-NEXT:   npu.signal "dma_l2_l1" 1
// CHECK:        scf.for %{{.*}} = %{{.*}} to [[TWO:%.*]] step
// CHECK:          npu.wait "dma_l3_l2" 1
// CHECK-NEXT:     npu.dma
// CHECK-NEXT:     npu.signal "dma_l3_l2" 0
// CHECK:        scf.for [[N:%.*]] = %{{.*}} to [[TRIPS:%.*]] step
// CHECK-NEXT:     [[M:%.*]] = arith.addi [[N]], [[TWO]] : index
// CHECK-NEXT:     [[NEXT:%.*]] = arith.addi [[M]], %{{.*}} : index
// CHECK-NEXT:     [[END:%.*]] = arith.minsi [[NEXT]], [[TRIPS]] : index
// CHECK-NEXT:     scf.for %{{.*}} = [[M]] to [[END]] step
// CHECK:            npu.wait "dma_l3_l2" 1
// CHECK-NEXT:       npu.dma
// CHECK-NEXT:       npu.signal "dma_l3_l2" 0
// CHECK-NEXT:     }
// CHECK:          npu.wait "dma_l2_l1" 0
// CHECK-NEXT:     npu.dma
// CHECK-NEXT:     npu.signal "dma_l2_l1" 1
// CHECK-NEXT:   }
// CHECK-NEXT:   npu.wait "dma_l3_l2" 1
// CHECK-NEXT:   npu.wait "dma_l3_l2" 1
// CHECK-NEXT:   npu.wait "dma_l3_l2" 1
// CHECK-NEXT:   npu.halt

// TEXT:      loop %n = 0 to 2 step 1 {
// TEXT:        dma dma_l3_l2
// TEXT:      loop %n_1 = 0 to 10 step 1 {
// TEXT-NEXT:   %r{{.*}} = add %n_1 2
func.func @copy(%x: memref<40xf32, "L3">) {
  %zero = arith.constant 0 : index
  %all = arith.constant 40 : index
  %four = arith.constant 4 : index
  scf.for %i = %zero to %all step %four {
    %tile = mem.alloc : memref<4xf32, "L2">
    %t0 = mem.dma %x[%i] to %tile[0] size [4] : memref<40xf32, "L3"> to memref<4xf32, "L2">
    mem.wait %t0
    %near = mem.alloc : memref<4xf32, "L1">
    %t1 = mem.dma %tile[0] to %near[0] size [4] : memref<4xf32, "L2"> to memref<4xf32, "L1">
    mem.wait %t1
  } {stages = 3 : i64}
  func.return
}
