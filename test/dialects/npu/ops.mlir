// RUN: TLF_ROUNDTRIP

// CHECK: npu.program @all semaphores 2 {
npu.program @all semaphores 2 {
  // CHECK-NEXT: npu.input "x" in "L3" at 0 : tensor<1000x512xf32>
  npu.input "x" in "L3" at 0 : tensor<1000x512xf32>
  // CHECK-NEXT: npu.output "y" in "L3" at 2048000 : tensor<f32>
  npu.output "y" in "L3" at 2048000 : tensor<f32>
  // CHECK-NEXT: npu.constant "c" in "L3" at 2048256 dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  npu.constant "c" in "L3" at 2048256 dense<[1.0, 2.0]> : tensor<2xf32>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %n = arith.constant 1000 : index
  scf.for %i = %c0 to %n step %c16 {
    // CHECK: npu.dma L2[0](256, 4):f32 from L3[%i + 64](2048, 4):f32 shape [16, 64] inside [0, -1] to [%n, 64] fill -inf
    npu.dma L2[0](256, 4):f32 from L3[%i + 64](2048, 4):f32 shape [16, 64]
        inside [0, -1] to [%n, 64] fill -inf
    // CHECK-NEXT: npu.dma L3[%i](2048, 4):f32 from L2[%i + -4](256, 4):f32 shape [%n, 64]
    npu.dma L3[%i](2048, 4):f32 from L2[%i + -4](256, 4):f32 shape [%n, 64]
    // CHECK-NEXT: npu.dma L2[0](256, 4):f32 from L3[%i](0, 4):f32, L2[%i + 8192](8, 0):i64 shape [%n, 64] inside [0, -1] to [%n, 64] gather [256, 1000] fill 1.0
    npu.dma L2[0](256, 4):f32 from L3[%i](0, 4):f32, L2[%i + 8192](8, 0):i64
        shape [%n, 64] inside [0, -1] to [%n, 64] gather [256, 1000] fill 1.0
    // CHECK-NEXT: npu.dma L3[0](0, 4):f32 from L2[0](256, 4):f32, L3[4](4, 0):i32 shape [16, 64] scatter [256, 1000] accumulate
    npu.dma L3[0](0, 4):f32 from L2[0](256, 4):f32, L3[4](4, 0):i32 shape [16, 64]
        scatter [256, 1000] accumulate
    // CHECK-NEXT: npu.signal "dma_l3_l2" 0
    npu.signal "dma_l3_l2" 0
    // CHECK-NEXT: npu.wait "vector" 0
    npu.wait "vector" 0
    // CHECK-NEXT: npu.vector "mul" L1[%i](256, 0):f32 from L1[%i + 4](256, 4):f32, 2.5 shape [16, %n]
    npu.vector "mul" L1[%i](256, 0):f32 from L1[%i + 4](256, 4):f32, 2.5 shape [16, %n]
    // CHECK-NEXT: npu.vector "fill" L1[0](4):i32 from -3 shape [64]
    npu.vector "fill" L1[0](4):i32 from -3 shape [64]
    // CHECK-NEXT: npu.vector "select" L1[0]():f32 from nan, L1[4]():f32, L1[8]():i1 shape []
    npu.vector "select" L1[0]():f32 from nan, L1[4]():f32, L1[8]():i1 shape []
    // CHECK-NEXT: npu.reduce "max" L1[0](4, 0):f32 from L1[64](256, 4):f16 shape [16, 64] axes [1] accumulate
    npu.reduce "max" L1[0](4, 0):f32 from L1[64](256, 4):f16 shape [16, 64] axes [1]
        accumulate
    // CHECK-NEXT: npu.matmul L1[0](256, 4):f32 from L1[%i](64, 2):bf16, L1[8192](128, 2):bf16 batch [] m [16] n [64] k [32] accumulate precision "tf32"
    npu.matmul L1[0](256, 4):f32 from L1[%i](64, 2):bf16, L1[8192](128, 2):bf16
        batch [] m [16] n [64] k [32] accumulate precision "tf32"
    // CHECK-NEXT: npu.reduce "sum" L1[%i](4, 0):f32 from L1[64](256, 4):f16 shape [16, 64] axes [1] accumulate if %n
    npu.reduce "sum" L1[%i](4, 0):f32 from L1[64](256, 4):f16 shape [16, 64] axes [1]
        accumulate if %n
    // CHECK-NEXT: npu.matmul L1[0](4):f32 from L1[%i](4):f32, L1[64]():f32 batch [] m [16] n [] k [] accumulate if %i precision "tf32"
    npu.matmul L1[0](4):f32 from L1[%i](4):f32, L1[64]():f32
        batch [] m [16] n [] k [] accumulate if %i precision "tf32"
  }
  // CHECK: npu.halt
  npu.halt
}

// CHECK: npu.program @shared semaphores 1 {
npu.program @shared semaphores 1 {
  // CHECK: npu.cores %core of 4 {
  npu.cores %core of 4 {
    // CHECK-NEXT: npu.dma L1[0](4):f32 from L2[%core](4):f32 shape [1]
    npu.dma L1[0](4):f32 from L2[%core](4):f32 shape [1]
    // CHECK-NEXT: npu.signal "dma_l2_l1" 0
    npu.signal "dma_l2_l1" 0
  }
  // CHECK: npu.wait "vector" 0
  npu.wait "vector" 0
  npu.halt
}
