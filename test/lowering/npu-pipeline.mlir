// RUN: tlf-opt %s --target npu-tiny:L2=16K,L1=4K -p %first-plans -o %t
// RUN: filecheck %s < %t
// RUN: tlf-opt %t -t npu | filecheck %s --check-prefix=TEXT

// Instructions with addresses in loops over numbers; nothing else is left.
// CHECK:      npu.program @matmul_bias_relu semaphores
// CHECK-NEXT:   npu.input "x" in "L3" at 0 : tensor<{{.*}}xf32>
// CHECK:        npu.output "y" in "L3" at {{[0-9]+}} : tensor<{{.*}}xf32>
// CHECK-NOT:    {{memref|mem\.|tile\.|graph\.}}
// CHECK:        scf.for
// CHECK:          npu.dma L2[{{.*}} from L3[
// CHECK:          scf.for
// CHECK:            npu.dma L1[{{.*}} from L2[
// CHECK:            npu.matmul L1[
// CHECK-NOT:    {{memref|mem\.|tile\.|graph\.}}
// CHECK:        npu.halt

// TEXT:      .input x L3 0 f32
// TEXT:      .code
// TEXT:      loop
// TEXT:        dma dma_l3_l2 dst=L2[
// TEXT:        dma dma_l2_l1 dst=L1[
// TEXT:        matmul c=L1[
// TEXT:        dma dma_l1_l2 dst=L2[
// TEXT:        dma dma_l2_l3 dst=L3[
// TEXT:      halt

func.func @matmul_bias_relu(%x: tensor<48x40xf32>, %w: tensor<40x56xf32>,
                            %b: tensor<56xf32>) -> tensor<48x56xf32> {
  %0 = graph.matmul %x, %w
      : (tensor<48x40xf32>, tensor<40x56xf32>) -> tensor<48x56xf32>
  %1 = graph.add %0, %b : (tensor<48x56xf32>, tensor<56xf32>) -> tensor<48x56xf32>
  %y = graph.relu %1 : tensor<48x56xf32>
  func.return %y : tensor<48x56xf32>
}
