// RUN: tlf-opt %s --target h200 -p triton-pipeline -t "triton{parts=source}" | filecheck %s
// RUN: tlf-opt %s --target h200 -p triton-pipeline | filecheck %s --check-prefix=KERNEL
// RUN: tlf-run %s --target triton --check | filecheck %s --check-prefix=RUNS

// Each kernel waits for the one before it, and lets the next one start after its last store.
// CHECK:      def twice_0(
// CHECK-NEXT:   # p0
// CHECK-NEXT:   # p1
// CHECK-NEXT:   tl.extra.cuda.gdc_wait()
// CHECK-NEXT:   pid0 = tl.program_id(0)
// CHECK:        tl.store(
// CHECK-NEXT:   tl.extra.cuda.gdc_launch_dependents()

// KERNEL: func.func @twice_0({{.*}}{triton.kernel, triton.dependent}
// RUNS: error of y {{.*}} ok
func.func @twice(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = graph.add %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %y : tensor<64x64xf32>
}
