// RUN: tlf-opt %s -p graph-decompose | filecheck %s
// RUN: tlf-opt %s -p "graph-decompose{keep=softmax,matmul}" | filecheck %s --check-prefix=KEEP
// RUN: tlf-opt %s -p graph-decompose,graph-decompose | filecheck %s

// A softmax of 16-bit floats is computed in f32, and rounded at the end.
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT:    [[WIDE:%.*]] = graph.cast %x : (tensor<4x8xbf16>) -> tensor<4x8xf32>
// CHECK-NEXT:    [[MAX:%.*]] = graph.reduce [[WIDE]] <max> axes [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
// CHECK-NEXT:    [[SHIFTED:%.*]] = graph.sub [[WIDE]], [[MAX]]
// CHECK-NEXT:    [[EXP:%.*]] = graph.exp [[SHIFTED]]
// CHECK-NEXT:    [[SUM:%.*]] = graph.reduce [[EXP]] <sum> axes [1] keepdims
// CHECK-NEXT:    [[ONE:%.*]] = graph.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:    [[SCALE:%.*]] = graph.div [[ONE]], [[SUM]] : (tensor<f32>, tensor<4x1xf32>) -> tensor<4x1xf32>
// CHECK-NEXT:    [[Y:%.*]] = graph.mul [[EXP]], [[SCALE]] : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:    graph.cast [[Y]] : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// KEEP-LABEL: func.func @softmax
// KEEP-NEXT:    graph.softmax
func.func @softmax(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %y = graph.softmax %x axis 1 : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  func.return %y : tensor<4x8xbf16>
}

// Parameters of a normalization broadcast from the channel on.
// CHECK-LABEL: func.func @batch_norm
// CHECK:         [[SCALE:%.*]] = graph.rsqrt %{{.*}} : tensor<8xf32>
// CHECK-NEXT:    [[MEANS:%.*]] = graph.reshape %m : (tensor<8xf32>) -> tensor<8x1x1xf32>
// CHECK-NEXT:    [[CENTRED:%.*]] = graph.sub %x, [[MEANS]]
// CHECK-NEXT:    [[SCALES:%.*]] = graph.reshape [[SCALE]] : (tensor<8xf32>) -> tensor<8x1x1xf32>
// CHECK-NEXT:    [[BIAS:%.*]] = graph.reshape %b
// CHECK-NEXT:    [[SCALED:%.*]] = graph.mul [[CENTRED]], [[SCALES]]
// CHECK-NEXT:    graph.add [[SCALED]], [[BIAS]]
// CHECK-NEXT:    func.return
func.func @batch_norm(%x: tensor<2x8x4x5xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<2x8x4x5xf32> {
  %y = graph.batch_norm %x mean %m variance %v bias %b epsilon 1.0e-5 : (tensor<2x8x4x5xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8x4x5xf32>
  func.return %y : tensor<2x8x4x5xf32>
}

// Everything else in one go.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     {{= graph.(layer_norm|gelu|dropout|mean)}}
// CHECK:         func.return
func.func @others(%x: tensor<4x8xf16>, %w: tensor<8xf32>) -> tensor<4xf16> {
  %0 = graph.layer_norm %x weight %w epsilon 1.0e-5 : (tensor<4x8xf16>, tensor<8xf32>) -> tensor<4x8xf16>
  %1 = graph.gelu %0 <erf> : tensor<4x8xf16>
  %2 = graph.dropout %1 ratio 0.5 : tensor<4x8xf16>
  %3 = graph.mean %2 axes [1] : (tensor<4x8xf16>) -> tensor<4xf16>
  func.return %3 : tensor<4xf16>
}

// A contraction rounds after it has accumulated, and starts from a widened init.
// CHECK-LABEL: func.func @accumulator
// CHECK-NEXT:    [[INIT:%.*]] = graph.cast %c : (tensor<4x6xbf16>) -> tensor<4x6xf32>
// CHECK-NEXT:    [[SUM:%.*]] = graph.matmul %a, %b init [[INIT]] : (tensor<4x8xbf16>, tensor<8x6xbf16>, tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT:    graph.cast [[SUM]] : (tensor<4x6xf32>) -> tensor<4x6xbf16>
// KEEP-LABEL: func.func @accumulator
// KEEP-NEXT:    graph.matmul %a, %b init %c :
func.func @accumulator(%a: tensor<4x8xbf16>, %b: tensor<8x6xbf16>, %c: tensor<4x6xbf16>) -> tensor<4x6xbf16> {
  %0 = graph.matmul %a, %b init %c : (tensor<4x8xbf16>, tensor<8x6xbf16>, tensor<4x6xbf16>) -> tensor<4x6xbf16>
  func.return %0 : tensor<4x6xbf16>
}

// Relu, maxima and what has its accumulator's type stay.
// CHECK-LABEL: func.func @stays
// CHECK-NEXT:    graph.relu
// CHECK-NEXT:    graph.reduce %{{.*}} <max> axes [0] : (tensor<4x8xbf16>) -> tensor<8xbf16>
// CHECK-NEXT:    func.return
func.func @stays(%x: tensor<4x8xbf16>) -> tensor<8xbf16> {
  %0 = graph.relu %x : tensor<4x8xbf16>
  %1 = graph.reduce %0 <max> axes [0] : (tensor<4x8xbf16>) -> tensor<8xbf16>
  func.return %1 : tensor<8xbf16>
}

// A plan counts the iterators of its group's operations, so they stay; without one, not.
// CHECK-LABEL: func.func @groups
// CHECK:         plan #graph.plan<L1, tile [2], mapping loop>
// CHECK-NEXT:    graph.softmax
// CHECK:       graph.group
// CHECK-NEXT:    graph.reduce
func.func @groups(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.group ins(%a = %x : tensor<4x8xf32>) plan #graph.plan<L1, tile [2], mapping loop> -> (tensor<4x8xf32>) {
    %1 = graph.softmax %a axis 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.yield %1 : tensor<4x8xf32>
  }
  %2 = graph.group ins(%a = %0 : tensor<4x8xf32>) -> (tensor<4x8xf32>) {
    %3 = graph.softmax %a axis 0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.yield %3 : tensor<4x8xf32>
  }
  func.return %2 : tensor<4x8xf32>
}

// A sigmoid is a quotient, in f32 and rounded once.
// CHECK-LABEL: func.func @silu
// CHECK-NEXT:    [[WIDE:%.*]] = graph.cast %x : (tensor<4xf16>) -> tensor<4xf32>
// CHECK:         [[MINUS:%.*]] = graph.mul [[WIDE]], %{{.*}}
// CHECK:         [[EXP:%.*]] = graph.exp [[MINUS]]
// CHECK:         [[SUM:%.*]] = graph.add [[EXP]], %{{.*}}
// CHECK-NEXT:    [[Y:%.*]] = graph.div [[WIDE]], [[SUM]]
// CHECK-NEXT:    graph.cast [[Y]] : (tensor<4xf32>) -> tensor<4xf16>
func.func @silu(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = graph.silu %x : tensor<4xf16>
  func.return %0 : tensor<4xf16>
}
