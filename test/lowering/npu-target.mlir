// RUN: tlf-opt %s --target npu-tiny -t npu | filecheck %s --match-full-lines

// CHECK:      .npu 1
// CHECK-NEXT: .machine clock_ghz=1.0 issue_cycles=1 name=npu-tiny
// CHECK-NEXT: .level L3 alignment=256 bandwidth=64 burst=256 capacity=17179869184 latency=500 shared=true
// CHECK-NEXT: .level L2 alignment=64 bandwidth=512 burst=64 capacity=65536 latency=50
// CHECK-NEXT: .level L1 alignment=64 bandwidth=2048 burst=1 capacity=8192 latency=0
// CHECK-NEXT: .engine matrix cols=8 cycles.bf16=1 cycles.f16=1 cycles.f32=4 rows=8 startup=14
// CHECK-NEXT: .engine vector lanes=256 startup=4 transcendental=4
// CHECK-NEXT: .engine dma_l3_l2 from=L3 to=L2 indexed=4
// CHECK-NEXT: .engine dma_l2_l3 from=L2 to=L3 indexed=4
// CHECK-NEXT: .engine dma_l2_l1 from=L2 to=L1
// CHECK-NEXT: .engine dma_l1_l2 from=L1 to=L2
// CHECK-NEXT: .input x L3 0 f32 10x16
// CHECK-NEXT: .const c L3 768 f32 2 AACAPwAAgD8=
// CHECK-NEXT: .const m L3 1024 i1 3 AQAB
// CHECK-NEXT: .output y L3 1280 bf16 scalar
// CHECK-NEXT: .semaphores 1
// CHECK-NEXT: .code
// CHECK-NEXT: loop %i = 0 to 10 step 4 {
// CHECK-NEXT:   %r = mul %i 64
// CHECK-NEXT:   %i_1 = sub 10 %i
// CHECK-NEXT:   %n = min %i_1 4
// CHECK-NEXT:   %r_1 = max %i 1
// CHECK-NEXT:   %r_2 = add %r_1 %r_1
// CHECK-NEXT:   %r_3 = div %r_2 3
// CHECK-NEXT:   %r_4 = rem %r_2 3
// CHECK-NEXT:   dma dma_l3_l2 dst=L2[0](64, 4) src=L3[%r-64](64, 4) shape=(4, 16) type=f32 inside=(1:%n, 0:16) fill=-inf
// CHECK-NEXT:   signal dma_l3_l2 s0
// CHECK-NEXT:   wait dma_l2_l1 s0
// CHECK-NEXT:   dma dma_l2_l1 dst=L1[%r+4](64, 4) src=L2[0](64, 4) shape=(%n, 16) type=f32
// CHECK-NEXT:   reduce sum dst=L1[0](4, 0):f32 a=L1[64](64, 4):f32 shape=(4, 16) axes=(1) accumulate=%i
// CHECK-NEXT:   matmul c=L1[0](4):f32 a=L1[64](4):f32 b=L1[128]():f32 batch=() m=(4) n=() k=() accumulate=%r_1
// CHECK-NEXT:   matmul c=L1[0](4):f32 a=L1[64](4):f32 b=L1[128]():f32 batch=() m=(4) n=() k=() accumulate=1
// CHECK-NEXT: }
// CHECK-NEXT: vector mul dst=L1[0](64, 4):f32 a=L1[256](0, 4):f32 b=#2.5 shape=(4, 16)
// CHECK-NEXT: reduce max dst=L1[0](4, 0):f32 a=L1[64](64, 4):f32 shape=(4, 16) axes=(1) accumulate
// CHECK-NEXT: matmul c=L1[0](16, 4):f32 a=L1[256](16, 4):f32 b=L1[512](16, 4):f32 batch=() m=(4) n=(4) k=(4) accumulate precision=tf32
// CHECK-NEXT: halt
npu.program @all semaphores 1 {
  npu.input "x" in "L3" at 0 : tensor<10x16xf32>
  npu.constant "c" in "L3" at 768 dense<1.0> : tensor<2xf32>
  npu.constant "m" in "L3" at 1024 dense<[true, false, true]> : tensor<3xi1>
  npu.output "y" in "L3" at 1280 : tensor<bf16>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %four = arith.constant 4 : index
  %ten = arith.constant 10 : index
  %row = arith.constant 64 : index
  scf.for %i = %zero to %ten step %four {
    %0 = arith.muli %i, %row : index
    %i_1 = arith.subi %ten, %i : index
    %n = arith.minsi %i_1, %four : index
    %1 = arith.maxsi %i, %one : index
    %2 = arith.addi %1, %1 : index
    %3 = arith.floordivsi %2, %three : index
    %4 = arith.remsi %2, %three : index
    npu.dma L2[0](64, 4):f32 from L3[%0 + -64](64, 4):f32 shape [4, 16]
        inside [1, 0] to [%n, 16] fill -inf
    npu.signal "dma_l3_l2" 0
    npu.wait "dma_l2_l1" 0
    npu.dma L1[%0 + 4](64, 4):f32 from L2[0](64, 4):f32 shape [%n, 16]
    npu.reduce "sum" L1[0](4, 0):f32 from L1[64](64, 4):f32 shape [4, 16] axes [1]
        accumulate if %i
    npu.matmul L1[0](4):f32 from L1[64](4):f32, L1[128]():f32
        batch [] m [4] n [] k [] accumulate if %1
    npu.matmul L1[0](4):f32 from L1[64](4):f32, L1[128]():f32
        batch [] m [4] n [] k [] accumulate if %one
  }
  npu.vector "mul" L1[0](64, 4):f32 from L1[256](0, 4):f32, 2.5 shape [4, 16]
  npu.reduce "max" L1[0](4, 0):f32 from L1[64](64, 4):f32 shape [4, 16] axes [1]
      accumulate
  npu.matmul L1[0](16, 4):f32 from L1[256](16, 4):f32, L1[512](16, 4):f32
      batch [] m [4] n [4] k [4] accumulate precision "tf32"
  npu.halt
}
