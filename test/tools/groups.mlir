// RUN: tlf-opt %s --target npu -p npu-pipeline --groups -o /dev/null 2>&1 | filecheck %s
// RUN: tlf-opt %s --target npu -p npu-pipeline -o /dev/null 2>&1 | filecheck %s --check-prefix=QUIET --allow-empty
// RUN: tlf-opt %s --target h200 -p triton-pipeline --groups -o /dev/null 2>&1 | filecheck %s --check-prefix=QUIET --allow-empty

// CHECK:      group 0 {{ *}}%y: lower bound {{[0-9,]+}} cycles, predicted {{[0-9,]+}}; gap {{[0-9.]+}}x
// CHECK-NEXT: groups {{ *}}lower bound {{[0-9,]+}} cycles, predicted {{[0-9,]+}}; gap {{[0-9.]+}}x
// CHECK-NEXT: recomputed
// QUIET-NOT:  group
func.func @f(%x: tensor<64x100xf32>) -> tensor<64x100xf32> {
  %y = graph.exp %x : tensor<64x100xf32>
  func.return %y : tensor<64x100xf32>
}
