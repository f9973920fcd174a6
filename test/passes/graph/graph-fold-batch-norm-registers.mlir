// RUN: tlf-opt %s --target h200 -p "graph-fold-batch-norm,tidy" | filecheck %s

// Where tiles are values, a weight of 16 bits is not rounded once more: the result is
// scaled, in f32.
// CHECK-LABEL: func.func @narrow
// CHECK-SAME:    #graph.remark<passed "graph-fold-batch-norm" "folded into the weight of graph.conv2d" at "%y">
// CHECK:         [[S:%.*]] = graph.rsqrt
// CHECK:         [[C:%.*]] = graph.conv2d %x, %w : (tensor<1x4x6x6xbf16>, tensor<6x4x3x3xbf16>) -> tensor<1x6x4x4xf32>
// CHECK-NEXT:    [[F:%.*]] = graph.reshape [[S]] : (tensor<6xf32>) -> tensor<6x1x1xf32>
// CHECK-NEXT:    [[M:%.*]] = graph.mul [[C]], [[F]]
// CHECK:         [[Y:%.*]] = graph.sub [[M]], {{%.*}} : (tensor<1x6x4x4xf32>, tensor<6x1x1xf32>) -> tensor<1x6x4x4xf32>
// CHECK-NEXT:    %y = graph.cast [[Y]] : (tensor<1x6x4x4xf32>) -> tensor<1x6x4x4xbf16>
func.func @narrow(
    %x: tensor<1x4x6x6xbf16>, %w: tensor<6x4x3x3xbf16> {tlf.parameter},
    %mean: tensor<6xf32> {tlf.parameter},
    %var: tensor<6xf32> {tlf.parameter, tlf.range = [0.5, 1.5]}) -> tensor<1x6x4x4xbf16> {
  %0 = graph.conv2d %x, %w : (tensor<1x4x6x6xbf16>, tensor<6x4x3x3xbf16>) -> tensor<1x6x4x4xbf16>
  %y = graph.batch_norm %0 mean %mean variance %var epsilon 1.0e-03
      : (tensor<1x6x4x4xbf16>, tensor<6xf32>, tensor<6xf32>) -> tensor<1x6x4x4xbf16>
  func.return %y : tensor<1x6x4x4xbf16>
}

// A weight in f32 is scaled once, before all calls.
// CHECK-LABEL: func.func @wide
// CHECK:         [[W:%.*]] = graph.mul %w, {{%.*}} : (tensor<6x4x3x3xf32>, tensor<6x1x1x1xf32>)
// CHECK:         [[C:%.*]] = graph.conv2d %x, [[W]]
// CHECK:         %y = graph.sub [[C]], {{%.*}}
func.func @wide(
    %x: tensor<1x4x6x6xf32>, %w: tensor<6x4x3x3xf32> {tlf.parameter},
    %mean: tensor<6xf32> {tlf.parameter},
    %var: tensor<6xf32> {tlf.parameter, tlf.range = [0.5, 1.5]}) -> tensor<1x6x4x4xf32> {
  %0 = graph.conv2d %x, %w : (tensor<1x4x6x6xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x4x4xf32>
  %y = graph.batch_norm %0 mean %mean variance %var epsilon 1.0e-03
      : (tensor<1x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<1x6x4x4xf32>
  func.return %y : tensor<1x6x4x4xf32>
}
