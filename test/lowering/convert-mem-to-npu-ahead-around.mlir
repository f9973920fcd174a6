// RUN: tlf-opt %s --target npu -p "mem-pipeline,mem-plan,convert-mem-to-npu,canonicalize,tlf-cse" | filecheck %s

// What is loaded ahead for the next iteration does not hold up the loads of a loop in this
// one: it is issued behind the last loop with loads in the same queue.
// CHECK-LABEL: npu.program @around
// CHECK:         npu.dma L1[%{{.*}}](4):f32 from L2[%n](4):f32 shape [4]
// CHECK:         scf.for
// CHECK-NOT:       shape [4]
// CHECK:           npu.dma L2[{{.*}}](4):f32 from L1[{{.*}}](4):f32 shape [2]
// CHECK-NEXT:    } {stages = 2 : i64}
// CHECK-NEXT:    scf.for
// CHECK:             npu.wait "dma_l2_l1"
// CHECK-NEXT:        npu.dma L1[%{{.*}}](4):f32 from L2[%{{.*}}](4):f32 shape [4]
// CHECK-NEXT:        npu.signal "dma_l2_l1"
// CHECK-NEXT:      }
func.func @around(%x: memref<32xf32, "L3">, %y: memref<8xf32, "L3">) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %8 = arith.constant 8 : index
  %a = mem.alloc : memref<32xf32, "L2">
  %b = mem.alloc : memref<8xf32, "L2">
  %c = mem.alloc : memref<64xf32, "L2">
  %s0 = mem.dma %x[0] to %a[0] size [32] : memref<32xf32, "L3"> to memref<32xf32, "L2">
  %s1 = mem.dma %y[0] to %b[0] size [8] : memref<8xf32, "L3"> to memref<8xf32, "L2">
  mem.wait %s0, %s1
  scf.for %i = %0 to %8 step %1 {
    %tile = mem.alloc : memref<4xf32, "L1">
    %t0 = mem.dma %a[%i] to %tile[0] size [4] : memref<32xf32, "L2"> to memref<4xf32, "L1">
    mem.wait %t0
    scf.for %j = %0 to %4 step %1 {
      %part = mem.alloc : memref<2xf32, "L1">
      %t1 = mem.dma %b[%j] to %part[0] size [2] : memref<8xf32, "L2"> to memref<2xf32, "L1">
      mem.wait %t1
      %t2 = mem.dma %tile[0] to %c[%j] size [2] : memref<4xf32, "L1"> to memref<64xf32, "L2">
      mem.wait %t2
    } {stages = 2 : i64}
  }
  func.return
}
