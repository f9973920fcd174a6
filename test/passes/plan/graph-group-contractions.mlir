// RUN: tlf-opt %s --target npu-tiny -p graph-group | filecheck %s
// RUN: tlf-opt %s --target npu-tiny -p "graph-group{max-contractions=3}" | filecheck %s --check-prefix=JOINED

// Contractions stay apart, unless several may be in one group: then a tile of the last
// is computed from tiles of those before, with what lies between them.
// CHECK-LABEL: func.func @three
// CHECK-NEXT:    graph.group
// CHECK-NEXT:      graph.conv2d
// CHECK-NEXT:      graph.relu
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group
// CHECK-NEXT:      graph.conv2d {{.*}} padding [1, 1, 1, 1]
// CHECK-NEXT:      graph.yield
// CHECK:         graph.group
// CHECK-NEXT:      graph.conv2d
// CHECK-NEXT:      graph.add
// JOINED-LABEL: func.func @three
// JOINED-NEXT:    graph.group ins([[X:%.*]] = %x, [[V:%.*]] = %v, [[W:%.*]] = %w, [[U:%.*]] = %u : {{.*}}) -> (tensor<1x8x9x9xf32>) {
// JOINED-NEXT:      [[A:%.*]] = graph.conv2d [[X]], [[V]] :
// JOINED-NEXT:      [[B:%.*]] = graph.relu [[A]]
// JOINED-NEXT:      [[C:%.*]] = graph.conv2d [[B]], [[W]] padding [1, 1, 1, 1]
// JOINED-NEXT:      [[D:%.*]] = graph.conv2d [[C]], [[U]] :
// JOINED-NEXT:      [[E:%.*]] = graph.add [[D]], [[X]]
// JOINED-NEXT:      graph.yield [[E]]
// JOINED-NOT:     graph.group
func.func @three(%x: tensor<1x8x9x9xf32>, %v: tensor<4x8x1x1xf32>, %w: tensor<4x4x3x3xf32>, %u: tensor<8x4x1x1xf32>) -> tensor<1x8x9x9xf32> {
  %0 = graph.conv2d %x, %v : (tensor<1x8x9x9xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x9x9xf32>
  %1 = graph.relu %0 : tensor<1x4x9x9xf32>
  %2 = graph.conv2d %1, %w padding [1, 1, 1, 1] : (tensor<1x4x9x9xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x9x9xf32>
  %3 = graph.conv2d %2, %u : (tensor<1x4x9x9xf32>, tensor<8x4x1x1xf32>) -> tensor<1x8x9x9xf32>
  %4 = graph.add %3, %x : (tensor<1x8x9x9xf32>, tensor<1x8x9x9xf32>) -> tensor<1x8x9x9xf32>
  func.return %4 : tensor<1x8x9x9xf32>
}

// No more than the given number join.
// CHECK-LABEL: func.func @four
// CHECK-COUNT-4: graph.group
// JOINED-LABEL: func.func @four
// JOINED-NEXT:    graph.group
// JOINED-COUNT-3:   graph.matmul
// JOINED-NEXT:      graph.yield
// JOINED:         graph.group
// JOINED-NEXT:      graph.matmul
// JOINED-NEXT:      graph.yield
func.func @four(%x: tensor<40x8xf32>, %w: tensor<8x8xf32>) -> tensor<40x8xf32> {
  %0 = graph.matmul %x, %w : (tensor<40x8xf32>, tensor<8x8xf32>) -> tensor<40x8xf32>
  %1 = graph.matmul %0, %w : (tensor<40x8xf32>, tensor<8x8xf32>) -> tensor<40x8xf32>
  %2 = graph.matmul %1, %w : (tensor<40x8xf32>, tensor<8x8xf32>) -> tensor<40x8xf32>
  %3 = graph.matmul %2, %w : (tensor<40x8xf32>, tensor<8x8xf32>) -> tensor<40x8xf32>
  func.return %3 : tensor<40x8xf32>
}

// Two products of one input share no tile that the one of the other could use.
// CHECK-LABEL: func.func @siblings
// CHECK-COUNT-2: graph.group
func.func @siblings(%x: tensor<40x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> (tensor<40x8xf32>, tensor<40x8xf32>) {
  %0 = graph.matmul %x, %w : (tensor<40x8xf32>, tensor<8x8xf32>) -> tensor<40x8xf32>
  %1 = graph.matmul %x, %v : (tensor<40x8xf32>, tensor<8x8xf32>) -> tensor<40x8xf32>
  func.return %0, %1 : tensor<40x8xf32>, tensor<40x8xf32>
}
