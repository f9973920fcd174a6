// RUN: tlf-opt %s --target npu -p "graph-pipeline,graph-group{level=L2},graph-partition{level=L2 max-evaluations=0}" | filecheck %s

// Channels become pixels in the group that computes them, though seen under another shape.
// What a program returns is seen outside.
// CHECK-LABEL: func.func @finer(
// CHECK-SAME:    "graph-partition" "2 groups run as one: {{.*}} bytes by the model"
// CHECK:         [[Y:%.*]] = graph.group {{.*}} plan #graph.plan<L2, tile [
// CHECK:           graph.conv2d
// CHECK:           graph.reshape
// CHECK-NEXT:      graph.transpose
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    graph.reshape [[Y]]
// CHECK-NEXT:    func.return
!image = tensor<1x56x560x960xf16>
!wide = tensor<1x16x560x960xf16>
!split = tensor<1x1x4x4x560x960xf16>
!finer = tensor<1x1x560x4x960x4xf16>
func.func @finer(%x: !image, %w: tensor<16x56x3x3xf16>) -> tensor<1x1x2240x3840xf16> {
  %0 = graph.conv2d %x, %w padding [1, 1, 1, 1]
      : (!image, tensor<16x56x3x3xf16>) -> !wide
  %1 = graph.reshape %0 : (!wide) -> !split
  %2 = graph.transpose %1 permutation [0, 1, 4, 2, 5, 3] : (!split) -> !finer
  %3 = graph.reshape %2 : (!finer) -> tensor<1x1x2240x3840xf16>
  func.return %3 : tensor<1x1x2240x3840xf16>
}
