// RUN: tlf-opt %s -p "graph-fold-batch-norm,tidy" | filecheck %s
// RUN: tlf-opt %s -p graph-fold-batch-norm | filecheck %s --check-prefix=PLAIN
// RUN: tlf-run %s --entry convolution --target npu-tiny -p %first-plans --check | filecheck %s --check-prefix=RUNS
// RUN: tlf-run %s --entry linear --target npu-tiny -p %first-plans --check | filecheck %s --check-prefix=RUNS
// RUN: tlf-run %s --entry rounded --target npu-tiny -p %first-plans --check | filecheck %s --check-prefix=RUNS
// RUNS: ok

// The filters are scaled and rounded once; the sum is in f32, and rounded once.
// PLAIN-LABEL: func.func @convolution
// PLAIN:         [[PRODUCT:%.*]] = graph.conv2d
// PLAIN-NOT:     graph.reshape [[PRODUCT]]
// PLAIN-LABEL: func.func @linear
// CHECK-LABEL: func.func @convolution
// CHECK-SAME:    #graph.remark<passed "graph-fold-batch-norm" "folded into the weight of graph.conv2d" at "%y">
// CHECK:         [[R:%.*]] = graph.rsqrt
// CHECK:         [[S:%.*]] = graph.mul [[R]], %gamma : (tensor<6xf32>, tensor<6xf32>)
// CHECK:         [[O:%.*]] = graph.mul %mean, [[S]]
// CHECK:         [[W:%.*]] = graph.cast %w : (tensor<6x2x3x3xbf16>) -> tensor<6x2x3x3xf32>
// CHECK:         [[V:%.*]] = graph.mul [[W]], {{%.*}} : (tensor<6x2x3x3xf32>, tensor<6x1x1x1xf32>)
// CHECK:         [[N:%.*]] = graph.cast [[V]] : (tensor<6x2x3x3xf32>) -> tensor<6x2x3x3xbf16>
// CHECK:         [[C:%.*]] = graph.conv2d %x, [[N]] groups 2 : (tensor<1x4x6x6xbf16>, tensor<6x2x3x3xbf16>) -> tensor<1x6x4x4xf32>
// CHECK:         [[B:%.*]] = graph.sub %beta, [[O]]
// CHECK:         graph.add [[C]], {{%.*}} : (tensor<1x6x4x4xf32>, tensor<6x1x1xf32>) -> tensor<1x6x4x4xf32>
// CHECK-NEXT:    %y = graph.cast
func.func @convolution(
    %x: tensor<1x4x6x6xbf16>, %w: tensor<6x2x3x3xbf16> {tlf.parameter},
    %mean: tensor<6xf32> {tlf.parameter},
    %var: tensor<6xf32> {tlf.parameter, tlf.range = [0.5, 1.5]},
    %gamma: tensor<6xf32> {tlf.parameter}, %beta: tensor<6xf32> {tlf.parameter})
    -> tensor<1x6x4x4xbf16> {
  %0 = graph.conv2d %x, %w groups 2
      : (tensor<1x4x6x6xbf16>, tensor<6x2x3x3xbf16>) -> tensor<1x6x4x4xbf16>
  %y = graph.batch_norm %0 mean %mean variance %var weight %gamma bias %beta epsilon 1.0e-03
      : (tensor<1x6x4x4xbf16>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
      -> tensor<1x6x4x4xbf16>
  func.return %y : tensor<1x6x4x4xbf16>
}

// What is added between goes along; a weight may be computed.
// CHECK-LABEL: func.func @linear
// CHECK:         [[T:%.*]] = graph.transpose %w
// CHECK:         [[O:%.*]] = graph.sub %mean, %b
// CHECK:         [[P:%.*]] = graph.matmul %x, {{%.*}} : (tensor<5x4xf32>, tensor<4x6xf32>) -> tensor<5x6xf32>
// CHECK-NEXT:    %y = graph.sub [[P]], {{%.*}} : (tensor<5x6xf32>, tensor<6xf32>)
// CHECK-NEXT:    func.return %y
func.func @linear(
    %x: tensor<5x4xf32>, %w: tensor<6x4xf32> {tlf.parameter}, %b: tensor<6xf32> {tlf.parameter},
    %mean: tensor<6xf32> {tlf.parameter},
    %var: tensor<6xf32> {tlf.parameter, tlf.range = [0.5, 1.5]}) -> tensor<5x6xf32> {
  %t = graph.transpose %w permutation [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %0 = graph.matmul %x, %t : (tensor<5x4xf32>, tensor<4x6xf32>) -> tensor<5x6xf32>
  %1 = graph.add %0, %b : (tensor<5x6xf32>, tensor<6xf32>) -> tensor<5x6xf32>
  %y = graph.batch_norm %1 mean %mean variance %var epsilon 1.0e-05
      : (tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<5x6xf32>
  func.return %y : tensor<5x6xf32>
}

// CHECK-LABEL: func.func @sums
// CHECK-NOT:     graph.batch_norm
// CHECK:         [[O:%.*]] = graph.sub %s, %c
// CHECK:         graph.sub [[O]], %b
func.func @sums(
    %x: tensor<5x4xf32>, %w: tensor<4x6xf32> {tlf.parameter}, %b: tensor<6xf32> {tlf.parameter},
    %c: tensor<6xf32> {tlf.parameter},
    %s: tensor<6xf32> {tlf.parameter, tlf.range = [0.5, 1.5]}) -> tensor<5x6xf32> {
  %0 = graph.matmul %x, %w : (tensor<5x4xf32>, tensor<4x6xf32>) -> tensor<5x6xf32>
  %1 = graph.add %b, %0 : (tensor<6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>
  %2 = graph.add %1, %c : (tensor<5x6xf32>, tensor<6xf32>) -> tensor<5x6xf32>
  %3 = graph.batch_norm %2 mean %s variance %s epsilon 1.0e-05
      : (tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<5x6xf32>
  func.return %3 : tensor<5x6xf32>
}

// CHECK-LABEL: func.func @stays
// CHECK-SAME:    missed "graph-fold-batch-norm" "its statistics or parameters are not known before a call" at "%a"
// CHECK-SAME:    missed "graph-fold-batch-norm" "its operand is not the result of a contraction" at "%b"
// CHECK-SAME:    missed "graph-fold-batch-norm" "the contraction before it has other users" at "%c"
// CHECK-SAME:    missed "graph-fold-batch-norm" "the weight of the contraction before it is not known before a call" at "%d"
// CHECK-COUNT-4: graph.batch_norm
func.func @stays(
    %x: tensor<5x4xf32>, %w: tensor<4x6xf32> {tlf.parameter}, %v: tensor<4x6xf32>,
    %m: tensor<6xf32>, %s: tensor<6xf32> {tlf.parameter, tlf.range = [0.5, 1.5]})
    -> (tensor<5x6xf32>, tensor<5x6xf32>, tensor<5x6xf32>, tensor<5x6xf32>) {
  %0 = graph.matmul %x, %w : (tensor<5x4xf32>, tensor<4x6xf32>) -> tensor<5x6xf32>
  %a = graph.batch_norm %0 mean %m variance %s epsilon 1.0e-05
      : (tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<5x6xf32>
  %e = graph.exp %0 : tensor<5x6xf32>
  %b = graph.batch_norm %e mean %s variance %s epsilon 1.0e-05
      : (tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<5x6xf32>
  %c = graph.batch_norm %0 mean %s variance %s epsilon 1.0e-05
      : (tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<5x6xf32>
  %1 = graph.matmul %x, %v : (tensor<5x4xf32>, tensor<4x6xf32>) -> tensor<5x6xf32>
  %d = graph.batch_norm %1 mean %s variance %s epsilon 1.0e-05
      : (tensor<5x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<5x6xf32>
  func.return %a, %b, %c, %d : tensor<5x6xf32>, tensor<5x6xf32>, tensor<5x6xf32>, tensor<5x6xf32>
}

// What is added may make the tensor larger: channels are not those of the product then.
// CHECK-LABEL: func.func @larger
// CHECK-SAME:    [#graph.remark<missed "graph-fold-batch-norm" "its operand is not the result of a contraction" at "{{[0-9]+:[0-9]+}}", "{{[0-9]+:[0-9]+}}">]
// CHECK-COUNT-2: graph.batch_norm
func.func @larger(
    %x: tensor<5x4xf32>, %w: tensor<4x5xf32> {tlf.parameter}, %v: tensor<4x1xf32> {tlf.parameter},
    %b: tensor<1x1x1xf32> {tlf.parameter}, %c: tensor<5xf32> {tlf.parameter},
    %s: tensor<5xf32> {tlf.parameter, tlf.range = [0.5, 1.5]})
    -> (tensor<1x5x5xf32>, tensor<5x5xf32>) {
  %0 = graph.matmul %x, %w : (tensor<5x4xf32>, tensor<4x5xf32>) -> tensor<5x5xf32>
  %1 = graph.add %0, %b : (tensor<5x5xf32>, tensor<1x1x1xf32>) -> tensor<1x5x5xf32>
  %2 = graph.batch_norm %1 mean %s variance %s epsilon 1.0e-05
      : (tensor<1x5x5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<1x5x5xf32>
  %3 = graph.matmul %x, %v : (tensor<5x4xf32>, tensor<4x1xf32>) -> tensor<5x1xf32>
  %4 = graph.add %3, %c : (tensor<5x1xf32>, tensor<5xf32>) -> tensor<5x5xf32>
  %5 = graph.batch_norm %4 mean %s variance %s epsilon 1.0e-05
      : (tensor<5x5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<5x5xf32>
  func.return %2, %5 : tensor<1x5x5xf32>, tensor<5x5xf32>
}

// What comes between may be rounded, and have another shape for each channel.
// CHECK-LABEL: func.func @rounded
// CHECK-SAME:    #graph.remark<passed "graph-fold-batch-norm" "folded into the weight of graph.conv2d" at "%y">
// CHECK:         graph.mul
// CHECK:         [[C:%.*]] = graph.conv2d {{.*}} -> tensor<2x3x1x5xf32>
// CHECK-NEXT:    [[R:%.*]] = graph.reshape [[C]] : (tensor<2x3x1x5xf32>) -> tensor<2x3x5xf32>
// CHECK:         graph.cast {{.*}} : (tensor<2x3x5xf32>) -> tensor<2x3x5xf16>
// CHECK-NEXT:    return
func.func @rounded(
    %x: tensor<2x4x1x5xf16>, %w: tensor<3x4x1x1xf16> {tlf.parameter},
    %b: tensor<3x1xf32> {tlf.parameter},
    %s: tensor<3xf16> {tlf.parameter, tlf.range = [0.5, 1.5]}) -> tensor<2x3x5xf16> {
  %0 = graph.conv2d %x, %w : (tensor<2x4x1x5xf16>, tensor<3x4x1x1xf16>) -> tensor<2x3x1x5xf32>
  %1 = graph.reshape %0 : (tensor<2x3x1x5xf32>) -> tensor<2x3x5xf32>
  %2 = graph.add %1, %b : (tensor<2x3x5xf32>, tensor<3x1xf32>) -> tensor<2x3x5xf32>
  %3 = graph.cast %2 : (tensor<2x3x5xf32>) -> tensor<2x3x5xf16>
  %y = graph.batch_norm %3 mean %s variance %s epsilon 1.0e-05
      : (tensor<2x3x5xf16>, tensor<3xf16>, tensor<3xf16>) -> tensor<2x3x5xf16>
  func.return %y : tensor<2x3x5xf16>
}

// Not where channels are put together, or where a number is made wider.
// CHECK-LABEL: func.func @mixed
// CHECK-COUNT-2: graph.batch_norm
func.func @mixed(
    %x: tensor<2x4x1x5xf16>, %w: tensor<3x4x1x1xf16> {tlf.parameter},
    %s: tensor<15xf16> {tlf.parameter, tlf.range = [0.5, 1.5]},
    %t: tensor<3xf32> {tlf.parameter, tlf.range = [0.5, 1.5]})
    -> (tensor<2x15xf16>, tensor<2x3x1x5xf32>) {
  %0 = graph.conv2d %x, %w : (tensor<2x4x1x5xf16>, tensor<3x4x1x1xf16>) -> tensor<2x3x1x5xf16>
  %1 = graph.reshape %0 : (tensor<2x3x1x5xf16>) -> tensor<2x15xf16>
  %y = graph.batch_norm %1 mean %s variance %s epsilon 1.0e-05
      : (tensor<2x15xf16>, tensor<15xf16>, tensor<15xf16>) -> tensor<2x15xf16>
  %2 = graph.conv2d %x, %w : (tensor<2x4x1x5xf16>, tensor<3x4x1x1xf16>) -> tensor<2x3x1x5xf16>
  %3 = graph.cast %2 : (tensor<2x3x1x5xf16>) -> tensor<2x3x1x5xf32>
  %z = graph.batch_norm %3 mean %t variance %t epsilon 1.0e-05
      : (tensor<2x3x1x5xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x1x5xf32>
  func.return %y, %z : tensor<2x15xf16>, tensor<2x3x1x5xf32>
}
