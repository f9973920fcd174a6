// RUN: tlf-opt %s --target npu-4core -t npu -p "mem-distribute-to-cores,mem-pipeline,mem-split-maps,mem-plan,convert-mem-to-npu,tidy" | filecheck %s
// RUN: tlf-run %s --target npu-4core --check -p "mem-distribute-to-cores,mem-pipeline,mem-split-maps,mem-plan,convert-mem-to-npu,tidy"
// RUN: tlf-run %s --target npu-4core:L1=1K --check -p "mem-distribute-to-cores,mem-split-maps,mem-plan,convert-mem-to-npu,tidy"

// 10 tiles for 4 cores. What comes to L2 is waited for in all cores, what every core does
// in its own. Semaphores that are signalled at the start are those of all cores.
// CHECK:      .machine {{.*}}cores=4
// CHECK:      .level L2 {{.*}}scope=chip
// CHECK:      .level L1 {{.*}}scope=core
// CHECK:      .code
// CHECK-NEXT: signal dma_l1_l2 [[SLOT:s.*]]
// CHECK-NEXT: signal dma_l1_l2 [[SLOT]]
// CHECK-NEXT: dma dma_l3_l2
// CHECK-NEXT: signal dma_l3_l2 [[HERE:s.*]]
// CHECK-NEXT: wait dma_l2_l1 [[HERE]]
// CHECK-NEXT: cores %core {
// CHECK-NEXT:   %{{.*}} = mul %core -1
// CHECK-NEXT:   %{{.*}} = add %{{.*}} 10
// CHECK:        wait dma_l2_l1 [[SLOT]]
// CHECK-NEXT:   dma dma_l2_l1
// CHECK:        loop %n = 0 to %{{.*}} step 1 {
// CHECK:          vector add
// CHECK-NEXT:     signal vector [[DONE:s.*]]
// CHECK:          wait dma_l1_l2 [[DONE]]
// CHECK-NEXT:     dma dma_l1_l2
// CHECK-NEXT:     signal dma_l1_l2 [[SLOT]]
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NEXT: signal dma_l1_l2 [[ALL:s.*]]
// CHECK-NEXT: wait dma_l2_l3 [[ALL]]
// CHECK-NEXT: dma dma_l2_l3
// CHECK-NEXT: wait dma_l2_l1 [[SLOT]]
// CHECK-NEXT: wait dma_l2_l1 [[SLOT]]
// CHECK-NEXT: halt
func.func @double(%x: memref<37x8xf32, "L3">, %y: memref<37x8xf32, "L3">)
    attributes {tlf.results = 1 : i64} {
  %zero = arith.constant 0 : index
  %rows = arith.constant 37 : index
  %four = arith.constant 4 : index
  %x_1 = mem.alloc : memref<37x8xf32, "L2">
  %t0 = mem.dma %x[0, 0] to %x_1[0, 0] size [37, 8]
      : memref<37x8xf32, "L3"> to memref<37x8xf32, "L2">
  mem.wait %t0
  %y_1 = mem.alloc : memref<37x8xf32, "L2">
  "scf.parallel"(%zero, %rows, %four) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %tile = mem.alloc : memref<4x8xf32, "L1">
    %t2 = mem.dma %x_1[%i, 0] to %tile[0, 0] size [4, 8]
        : memref<37x8xf32, "L2"> to memref<4x8xf32, "L1">
    mem.wait %t2
    mem.map ins(%tile : memref<4x8xf32, "L1">) outs(%tile : memref<4x8xf32, "L1">)
        domain [4, 8] maps [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>] {
    ^bb0(%a: f32):
      %b = arith.addf %a, %a : f32
      mem.yield %b : f32
    }
    %t3 = mem.dma %tile[0, 0] to %y_1[%i, 0] size [4, 8]
        : memref<4x8xf32, "L1"> to memref<37x8xf32, "L2">
    mem.wait %t3
    scf.reduce
  }) {mapping = "core", stages = 2 : i64} : (index, index, index) -> ()
  %t4 = mem.dma %y_1[0, 0] to %y[0, 0] size [37, 8]
      : memref<37x8xf32, "L2"> to memref<37x8xf32, "L3">
  mem.wait %t4
  func.return
}
