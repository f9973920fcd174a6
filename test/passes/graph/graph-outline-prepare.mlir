// RUN: tlf-opt %s -p graph-outline-prepare | filecheck %s
// RUN: tlf-opt %s -p graph-outline-prepare,graph-outline-prepare | filecheck %s
// RUN: tlf-run %s --entry scaled --target npu-tiny -p %first-plans --check | filecheck %s --check-prefix=RUNS
// RUN: tlf-run %s --entry scaled --target h200 --check | filecheck %s --check-prefix=RUNS
// RUN: tlf-run %s --entry scaled --target reference -p graph-outline-prepare --check | filecheck %s --check-prefix=RUNS
// RUNS: ok

// CHECK-LABEL: func.func @scaled_prepare(%w: tensor<8x6xf32>, %s: tensor<6xf32>) -> tensor<8x6xf32>
// CHECK-SAME:    tlf.prepares = @scaled, tlf.takes = array<i64: 1, 3>
// CHECK-NEXT:    [[E:%.*]] = graph.exp %s
// CHECK-NEXT:    %v = graph.mul %w, [[E]]
// CHECK-NEXT:    func.return %v
// CHECK-LABEL: func.func @scaled(
// CHECK-SAME:    %v: tensor<8x6xf32>) -> tensor<5x6xf32>
// CHECK-SAME:    #graph.remark<passed "graph-outline-prepare" "192 bytes computed once" at "%v">
// CHECK-NEXT:    [[P:%.*]] = graph.matmul %x, %v
// CHECK-NEXT:    graph.add [[P]], %b
func.func @scaled(%x: tensor<5x8xf32>, %w: tensor<8x6xf32> {tlf.parameter}, %b: tensor<6xf32>,
                  %s: tensor<6xf32> {tlf.parameter}) -> tensor<5x6xf32> {
  %0 = graph.exp %s : tensor<6xf32>
  %v = graph.mul %w, %0 : (tensor<8x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %1 = graph.matmul %x, %v : (tensor<5x8xf32>, tensor<8x6xf32>) -> tensor<5x6xf32>
  %2 = graph.add %1, %b : (tensor<5x6xf32>, tensor<6xf32>) -> tensor<5x6xf32>
  func.return %2 : tensor<5x6xf32>
}

// What is wider, repeated, or the weight itself under another shape stays.
// CHECK-LABEL: func.func @stays
// CHECK-NEXT:    graph.cast %w
// CHECK-NEXT:    graph.broadcast %b
// CHECK-NEXT:    graph.reshape %c
func.func @stays(%x: tensor<8x6xf32>, %w: tensor<8x6xbf16> {tlf.parameter},
                 %b: tensor<6xf32> {tlf.parameter}, %c: tensor<48xf32> {tlf.parameter})
    -> tensor<8x6xf32> {
  %0 = graph.cast %w : (tensor<8x6xbf16>) -> tensor<8x6xf32>
  %1 = graph.broadcast %b : (tensor<6xf32>) -> tensor<8x6xf32>
  %2 = graph.reshape %c : (tensor<48xf32>) -> tensor<8x6xf32>
  %3 = graph.add %x, %0 : tensor<8x6xf32>
  %4 = graph.add %3, %1 : tensor<8x6xf32>
  %5 = graph.add %4, %2 : tensor<8x6xf32>
  func.return %5 : tensor<8x6xf32>
}

// A function that another one calls keeps its arguments.
// CHECK-LABEL: func.func @inner(%x: tensor<6xf32>, %w: tensor<6xf32> {tlf.parameter}) -> tensor<6xf32> {
func.func @inner(%x: tensor<6xf32>, %w: tensor<6xf32> {tlf.parameter}) -> tensor<6xf32> {
  %0 = graph.exp %w : tensor<6xf32>
  %1 = graph.add %x, %0 : tensor<6xf32>
  func.return %1 : tensor<6xf32>
}
func.func @outer(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = func.call @inner(%x, %x) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  func.return %0 : tensor<6xf32>
}
