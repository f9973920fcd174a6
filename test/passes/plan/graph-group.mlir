// RUN: tlf-opt %s --target npu-tiny -p graph-group | filecheck %s

// A chain of elementwise operations; what is broadcast on the way comes along.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    [[Y:%.*]] = graph.group ins([[X:%.*]] = %x, [[B:%.*]] = %b : tensor<40x30xf32>, tensor<30xf32>) -> (tensor<40x30xf32>) {
// CHECK-NEXT:      [[P:%.*]] = graph.tanh [[X]]
// CHECK-NEXT:      [[Q:%.*]] = graph.exp [[B]] : tensor<30xf32>
// CHECK-NEXT:      [[R:%.*]] = graph.add [[P]], [[Q]]
// CHECK-NEXT:      graph.yield [[R]]
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return [[Y]]
func.func @chain(%x: tensor<40x30xf32>, %b: tensor<30xf32>) -> tensor<40x30xf32> {
  %0 = graph.tanh %x : tensor<40x30xf32>
  %1 = graph.exp %b : tensor<30xf32>
  %2 = graph.add %0, %1 : (tensor<40x30xf32>, tensor<30xf32>) -> tensor<40x30xf32>
  func.return %2 : tensor<40x30xf32>
}

// A matrix product takes what follows it, element by element.
// CHECK-LABEL: func.func @matmul
// CHECK-NEXT:    graph.group ins([[X:%.*]] = %x, [[W:%.*]] = %w, [[B:%.*]] = %b : {{.*}}) -> (tensor<40x20xf32>) {
// CHECK-NEXT:      [[P:%.*]] = graph.matmul [[X]], [[W]]
// CHECK-NEXT:      [[Q:%.*]] = graph.add [[P]], [[B]]
// CHECK-NEXT:      [[R:%.*]] = graph.relu [[Q]]
// CHECK-NEXT:      graph.yield [[R]]
func.func @matmul(%x: tensor<40x30xf32>, %w: tensor<30x20xf32>, %b: tensor<20xf32>) -> tensor<40x20xf32> {
  %0 = graph.matmul %x, %w : (tensor<40x30xf32>, tensor<30x20xf32>) -> tensor<40x20xf32>
  %1 = graph.add %0, %b : (tensor<40x20xf32>, tensor<20xf32>) -> tensor<40x20xf32>
  %2 = graph.relu %1 : tensor<40x20xf32>
  func.return %2 : tensor<40x20xf32>
}

// So does a convolution; a skip past it enters beside it.
// CHECK-LABEL: func.func @convolution
// CHECK-NEXT:    graph.group ins([[X:%.*]] = %x, [[W:%.*]] = %w : {{.*}}) -> (tensor<1x8x9x9xf32>) {
// CHECK-NEXT:      [[P:%.*]] = graph.conv2d [[X]], [[W]] padding [1, 1, 1, 1]
// CHECK-NEXT:      [[Q:%.*]] = graph.add [[P]], [[X]]
// CHECK-NEXT:      graph.yield [[Q]]
func.func @convolution(%x: tensor<1x8x9x9xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<1x8x9x9xf32> {
  %0 = graph.conv2d %x, %w padding [1, 1, 1, 1] : (tensor<1x8x9x9xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x9x9xf32>
  %1 = graph.add %0, %x : (tensor<1x8x9x9xf32>, tensor<1x8x9x9xf32>) -> tensor<1x8x9x9xf32>
  func.return %1 : tensor<1x8x9x9xf32>
}

// A value that leaves and comes back keeps its two ends apart.
// CHECK-LABEL: func.func @detour
// CHECK-NEXT:    [[P:%.*]] = graph.group ins([[X:%.*]] = %x : {{.*}}) -> (tensor<30x30xf32>) {
// CHECK-NEXT:      graph.exp [[X]]
// CHECK:         graph.group ins([[A:%.*]] = [[P]], [[W:%.*]] = %w : {{.*}}) -> (tensor<30x30xf32>) {
// CHECK-NEXT:      [[Q:%.*]] = graph.matmul [[A]], [[W]]
// CHECK-NEXT:      graph.add [[A]], [[Q]]
func.func @detour(%x: tensor<30x30xf32>, %w: tensor<30x30xf32>) -> tensor<30x30xf32> {
  %0 = graph.exp %x : tensor<30x30xf32>
  %1 = graph.matmul %0, %w : (tensor<30x30xf32>, tensor<30x30xf32>) -> tensor<30x30xf32>
  %2 = graph.add %0, %1 : (tensor<30x30xf32>, tensor<30x30xf32>) -> tensor<30x30xf32>
  func.return %2 : tensor<30x30xf32>
}
