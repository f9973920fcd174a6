// RUN: tlf-opt %s -p graph-normalize-layouts | filecheck %s
// RUN: tlf-opt %s -p graph-normalize-layouts,graph-normalize-layouts | filecheck %s
// RUN: tlf-run %s --entry images --target reference -p graph-normalize-layouts --check | filecheck %s --check-prefix=RUNS
// RUN: tlf-run %s --entry images --target npu-tiny -p graph-normalize-layouts,%first-plans --check | filecheck %s --check-prefix=RUNS
// RUN: tlf-opt %s -p graph-normalize-layouts | tlf-run /dev/stdin --entry images --target npu-tiny -p %first-plans --check | filecheck %s --check-prefix=RUNS
// RUNS: result y {{ *}} 2x4x6x5 float32
// RUNS: result z {{ *}} 5x6 float32
// RUNS: error of y {{.*}}: ok
// RUNS: error of z {{.*}}: ok

// Types have the axes in memory order; the program sees the shapes that it declares.
// CHECK-LABEL: func.func @images(
// CHECK-SAME:    %x: tensor<2x6x5x3xf32> {tlf.physical_axes = array<i64: 0, 2, 3, 1>}
// CHECK-SAME:    %w: tensor<4x3x1x1xf32> {tlf.parameter}
// CHECK-SAME:    %v: tensor<5x6xf32> {tlf.parameter, tlf.physical_axes = array<i64: 1, 0>}
// CHECK-SAME:    -> (tensor<2x6x5x4xf32> {tlf.physical_axes = array<i64: 0, 2, 3, 1>}, tensor<6x5xf32> {tlf.physical_axes = array<i64: 1, 0>})
// CHECK-NEXT:    [[X:%.*]] = graph.transpose %x permutation [0, 3, 1, 2]
// CHECK-NEXT:    [[V:%.*]] = graph.transpose %v permutation [1, 0]
// CHECK-NEXT:    [[Y:%.*]] = graph.conv2d [[X]], %w
// CHECK-NEXT:    [[Z:%.*]] = graph.transpose [[V]] permutation [1, 0]
// CHECK-NEXT:    [[YT:%.*]] = graph.transpose [[Y]] permutation [0, 2, 3, 1]
// CHECK-NEXT:    [[ZT:%.*]] = graph.transpose [[Z]] permutation [1, 0]
// CHECK-NEXT:    func.return [[YT]], [[ZT]]
func.func @images(%x: tensor<2x3x6x5xf32> {tlf.layout = array<i64: 0, 2, 3, 1>},
                  %w: tensor<4x3x1x1xf32> {tlf.parameter},
                  %v: tensor<6x5xf32> {tlf.parameter, tlf.layout = array<i64: 1, 0>})
    -> (tensor<2x4x6x5xf32> {tlf.layout = array<i64: 0, 2, 3, 1>},
        tensor<5x6xf32> {tlf.layout = array<i64: 1, 0>}) {
  %y = graph.conv2d %x, %w
      : (tensor<2x3x6x5xf32>, tensor<4x3x1x1xf32>) -> tensor<2x4x6x5xf32>
  %z = graph.transpose %v permutation [1, 0] : (tensor<6x5xf32>) -> tensor<5x6xf32>
  func.return %y, %z : tensor<2x4x6x5xf32>, tensor<5x6xf32>
}

// Orders that are row-major but for axes of one element are kept, and so is `any`.
// CHECK-LABEL: func.func @kept(
// CHECK-SAME:    %x: tensor<2x1x4xf32> {tlf.layout = array<i64: 0, 2, 1>}
// CHECK-SAME:    %y: tensor<2x3xf32> {tlf.layout = "any"}
// CHECK-SAME:    -> (tensor<2x1x4xf32> {tlf.layout = array<i64: 1, 0, 2>}, tensor<2x3xf32> {tlf.layout = "any"})
// CHECK-NEXT:    func.return %x, %y
func.func @kept(%x: tensor<2x1x4xf32> {tlf.layout = array<i64: 0, 2, 1>},
                %y: tensor<2x3xf32> {tlf.layout = "any"})
    -> (tensor<2x1x4xf32> {tlf.layout = array<i64: 1, 0, 2>},
        tensor<2x3xf32> {tlf.layout = "any"}) {
  func.return %x, %y : tensor<2x1x4xf32>, tensor<2x3xf32>
}

// Only callers outside of the program know a layout.
// CHECK-LABEL: func.func @callee(
// CHECK-SAME:    %x: tensor<2x3xf32> {tlf.layout = array<i64: 1, 0>}) -> tensor<2x3xf32>
// CHECK-LABEL: func.func @caller(
// CHECK-SAME:    %x: tensor<3x2xf32> {tlf.physical_axes = array<i64: 1, 0>}) -> tensor<2x3xf32>
// CHECK-NEXT:    [[X:%.*]] = graph.transpose %x permutation [1, 0]
// CHECK-NEXT:    func.call @callee([[X]])
func.func @callee(%x: tensor<2x3xf32> {tlf.layout = array<i64: 1, 0>}) -> tensor<2x3xf32> {
  func.return %x : tensor<2x3xf32>
}
func.func @caller(%x: tensor<2x3xf32> {tlf.layout = array<i64: 1, 0>}) -> tensor<2x3xf32> {
  %y = func.call @callee(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// A preparation function takes what the other one does: both stay as they are.
// CHECK-LABEL: func.func @prepared_prepare(%w: tensor<2x3xf32>)
// CHECK-LABEL: func.func @prepared(
// CHECK-SAME:    %w: tensor<2x3xf32> {tlf.layout = array<i64: 1, 0>, tlf.parameter}
func.func @prepared_prepare(%w: tensor<2x3xf32>) -> tensor<2x3xf32>
    attributes {tlf.prepares = @prepared, tlf.takes = array<i64: 0>} {
  %e = graph.exp %w : tensor<2x3xf32>
  func.return %e : tensor<2x3xf32>
}
func.func @prepared(%w: tensor<2x3xf32> {tlf.layout = array<i64: 1, 0>, tlf.parameter},
                    %e: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = graph.add %w, %e : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
