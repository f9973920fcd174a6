// RUN: tlf-opt %s --target h200 -p graph-outline-prepare | filecheck %s
// RUN: tlf-opt %s --target npu -p graph-outline-prepare | filecheck %s --check-prefix=NPU

// A factor that is joined from weights with padding is larger than these, but a kernel
// of its own would take longer than to read it. What is added is computed where it is
// read, as on targets without launches.
// CHECK-LABEL: func.func @joined_prepare
// CHECK:         %w = graph.maximum
// CHECK-NEXT:    func.return %w : tensor<8x16xf32>
// CHECK-LABEL: func.func @joined(
// CHECK-DAG:     graph.matmul %x, %w
// CHECK-DAG:     graph.pad %b
// CHECK-DAG:     graph.pad %c
// NPU-NOT:       @joined_prepare
func.func @joined(%x: tensor<4x8xf32>, %u: tensor<3x16xf32> {tlf.parameter}, %v: tensor<3x16xf32> {tlf.parameter},
                  %b: tensor<4xf32> {tlf.parameter}, %c: tensor<4xf32> {tlf.parameter}) -> tensor<4x16xf32> {
  %0 = graph.pad %u low [0, 0] high [5, 0] fill -inf : (tensor<3x16xf32>) -> tensor<8x16xf32>
  %1 = graph.pad %v low [3, 0] high [2, 0] fill -inf : (tensor<3x16xf32>) -> tensor<8x16xf32>
  %w = graph.maximum %0, %1 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %3 = graph.pad %b low [0] high [12] fill -inf : (tensor<4xf32>) -> tensor<16xf32>
  %4 = graph.pad %c low [4] high [8] fill -inf : (tensor<4xf32>) -> tensor<16xf32>
  %5 = graph.maximum %3, %4 : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %6 = graph.add %2, %5 : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  func.return %6 : tensor<4x16xf32>
}
