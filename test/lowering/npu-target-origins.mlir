// RUN: tlf-opt %s --target npu-tiny -t "npu{origins=true}" | filecheck %s
// RUN: tlf-opt %s --target npu-tiny -t npu | filecheck %s --check-prefix=WITHOUT

// Instructions end in the places that they come from, and so does the head of a loop.

// CHECK:      .code
// WITHOUT:    .code
// WITHOUT-NOT: mlir
npu.program @all semaphores 1 {
  npu.input "x" in "L3" at 0 : tensor<16xf32>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // CHECK-NEXT: loop %i = 0 to 1 step 1 { ; {{.*}}npu-target-origins.mlir:14:3
  scf.for %i = %zero to %one step %one {
    // CHECK-NEXT:   dma dma_l3_l2 {{.*}} type=f32 ; {{.*}}npu-target-origins.mlir:16:5
    npu.dma L2[0](4):f32 from L3[0](4):f32 shape [16]
    // CHECK-NEXT:   signal dma_l3_l2 s0 ; model.py:3:4
    npu.signal "dma_l3_l2" 0 loc("model.py":3:4)
    // CHECK-NEXT: {{^}}}{{$}}
  }
  // CHECK-NEXT: halt ; {{.*}}npu-target-origins.mlir:22:3
  npu.halt
}
