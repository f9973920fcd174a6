// RUN: tlf-opt %s --target h200 -p graph-recompute-rows | filecheck %s
// RUN: tlf-opt %s --target npu -p graph-recompute-rows | filecheck %s --check-prefix=NPU
// RUN: tlf-opt %s --target h200 -p "graph-recompute-rows,tlf-cse" | filecheck %s
// RUN: tlf-opt %s --target h200 -p "graph-recompute-rows,graph-group" | filecheck %s --check-prefix=GROUPED

// NPU-NOT: tlf.recomputed
// GROUPED-NOT: tlf.recomputed
// GROUPED-NOT: tlf.stored

// The exponentials are summed from the elements of x, which are subtracted again for
// the result.
// CHECK-LABEL: func.func @log_softmax
// CHECK:         [[MAX:%.*]] = graph.reduce %x <max> axes [1] keepdims
// CHECK-NEXT:    [[D:%.*]] = graph.sub %x, [[MAX]] : (
// CHECK-NEXT:    [[D2:%.*]] = graph.sub %x, [[MAX]] {tlf.recomputed = 0 : i64}
// CHECK-NEXT:    [[E:%.*]] = graph.exp [[D2]] {tlf.recomputed = 0 : i64}
// CHECK-NEXT:    [[SUM:%.*]] = graph.reduce [[E]] <sum> axes [1] keepdims
// CHECK-NEXT:    [[LOG:%.*]] = graph.log [[SUM]]
// CHECK-NEXT:    {{.*}} = graph.sub [[D]], [[LOG]]
func.func @log_softmax(%x: tensor<64x100000xf32>) -> tensor<64x100000xf32> {
  %max = graph.reduce %x <max> axes [1] keepdims : (tensor<64x100000xf32>) -> tensor<64x1xf32>
  %d = graph.sub %x, %max : (tensor<64x100000xf32>, tensor<64x1xf32>) -> tensor<64x100000xf32>
  %e = graph.exp %d : tensor<64x100000xf32>
  %sum = graph.reduce %e <sum> axes [1] keepdims : (tensor<64x100000xf32>) -> tensor<64x1xf32>
  %log = graph.log %sum : tensor<64x1xf32>
  %y = graph.sub %d, %log : (tensor<64x100000xf32>, tensor<64x1xf32>) -> tensor<64x100000xf32>
  func.return %y : tensor<64x100000xf32>
}

// Adjacent reduced axes become one, and both reductions read the same tensor.
// CHECK-LABEL: func.func @axes
// CHECK-NEXT:    [[X:%.*]] = graph.reshape %x : (tensor<64x400x500xf32>) -> tensor<64x200000xf32>
// CHECK-NEXT:    [[MAX:%.*]] = graph.reduce [[X]] <max> axes [1] keepdims
// CHECK-NEXT:    [[NEG:%.*]] = graph.neg [[MAX]] : tensor<64x1xf32>
// CHECK-NEXT:    [[NEG3:%.*]] = graph.reshape [[NEG]] : (tensor<64x1xf32>) -> tensor<64x1x1xf32>
// CHECK-NEXT:    [[D:%.*]] = graph.add %x, [[NEG3]] : (
// CHECK-NEXT:    [[D2:%.*]] = graph.add [[X]], [[NEG]] {tlf.recomputed = 0 : i64}
// CHECK-NEXT:    [[SUM:%.*]] = graph.reduce [[D2]] <sum> axes [1] keepdims
// CHECK-NEXT:    [[SUM3:%.*]] = graph.reshape [[SUM]] : (tensor<64x1xf32>) -> tensor<64x1x1xf32>
// CHECK-NEXT:    {{.*}} = graph.mul [[D]], [[SUM3]]
func.func @axes(%x: tensor<64x400x500xf32>) -> tensor<64x400x500xf32> {
  %max = graph.reduce %x <max> axes [1, 2] keepdims : (tensor<64x400x500xf32>) -> tensor<64x1x1xf32>
  %neg = graph.neg %max : tensor<64x1x1xf32>
  %d = graph.add %x, %neg : (tensor<64x400x500xf32>, tensor<64x1x1xf32>) -> tensor<64x400x500xf32>
  %sum = graph.reduce %d <sum> axes [1, 2] keepdims : (tensor<64x400x500xf32>) -> tensor<64x1x1xf32>
  %y = graph.mul %d, %sum : (tensor<64x400x500xf32>, tensor<64x1x1xf32>) -> tensor<64x400x500xf32>
  func.return %y : tensor<64x400x500xf32>
}

// The result of an epilogue is stored, as rows are read again; it is reduced where it is.
// CHECK-LABEL: func.func @epilogue
// CHECK:         [[Z:%.*]] = graph.abs {{%.*}} {tlf.stored}
// CHECK-NEXT:    [[SUM:%.*]] = graph.reduce [[Z]] <sum> axes [0] keepdims
// CHECK-NEXT:    [[D:%.*]] = graph.sub [[Z]], [[SUM]] : (
// CHECK-NEXT:    [[D2:%.*]] = graph.sub [[Z]], [[SUM]] {tlf.recomputed = 0 : i64}
// CHECK-NEXT:    [[MAX:%.*]] = graph.reduce [[D2]] <max> axes [0] keepdims
// CHECK-NEXT:    {{.*}} = graph.mul [[D]], [[MAX]]
func.func @epilogue(%x: tensor<100000x16xf32>, %w: tensor<16x32xf32>) -> tensor<100000x32xf32> {
  %p = graph.matmul %x, %w : (tensor<100000x16xf32>, tensor<16x32xf32>) -> tensor<100000x32xf32>
  %z = graph.abs %p : tensor<100000x32xf32>
  %sum = graph.reduce %z <sum> axes [0] keepdims : (tensor<100000x32xf32>) -> tensor<1x32xf32>
  %d = graph.sub %z, %sum : (tensor<100000x32xf32>, tensor<1x32xf32>) -> tensor<100000x32xf32>
  %max = graph.reduce %d <max> axes [0] keepdims : (tensor<100000x32xf32>) -> tensor<1x32xf32>
  %y = graph.mul %d, %max : (tensor<100000x32xf32>, tensor<1x32xf32>) -> tensor<100000x32xf32>
  func.return %y : tensor<100000x32xf32>
}

// Kept: rows that fit, and sums of two tensors, which are twice as many bytes as their
// result.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:     tlf.recomputed
func.func @kept(%s: tensor<64x4096xf32>, %x: tensor<64x100000xf32>, %y: tensor<64x100000xf32>)
    -> (tensor<64x4096xf32>, tensor<64x100000xf32>) {
  %0 = graph.exp %s : tensor<64x4096xf32>
  %1 = graph.reduce %0 <sum> axes [1] keepdims : (tensor<64x4096xf32>) -> tensor<64x1xf32>
  %2 = graph.mul %0, %1 : (tensor<64x4096xf32>, tensor<64x1xf32>) -> tensor<64x4096xf32>
  %3 = graph.add %x, %y : (tensor<64x100000xf32>, tensor<64x100000xf32>) -> tensor<64x100000xf32>
  %4 = graph.reduce %3 <sum> axes [1] keepdims : (tensor<64x100000xf32>) -> tensor<64x1xf32>
  %5 = graph.mul %3, %4 : (tensor<64x100000xf32>, tensor<64x1xf32>) -> tensor<64x100000xf32>
  func.return %2, %5 : tensor<64x4096xf32>, tensor<64x100000xf32>
}

// Axes that are not adjacent are reduced one after the other, in the accumulator type.
// CHECK-LABEL: func.func @apart
// CHECK-NEXT:    [[X:%.*]] = graph.reshape %x : (tensor<64x8x40x50xbf16>) -> tensor<64x8x2000xbf16>
// CHECK-NEXT:    [[P:%.*]] = graph.reduce [[X]] <sum> axes [2] keepdims : (tensor<64x8x2000xbf16>) -> tensor<64x8x1xf32>
// CHECK-NEXT:    [[S:%.*]] = graph.reduce [[P]] <sum> axes [0] keepdims : (tensor<64x8x1xf32>) -> tensor<1x8x1xf32>
// CHECK-NEXT:    [[C:%.*]] = graph.cast [[S]] {{.*}} tensor<1x8x1xbf16>
// CHECK-NEXT:    {{.*}} = graph.reshape [[C]] : (tensor<1x8x1xbf16>) -> tensor<8xbf16>
func.func @apart(%x: tensor<64x8x40x50xbf16>) -> tensor<8xbf16> {
  %sum = graph.reduce %x <sum> axes [0, 2, 3] : (tensor<64x8x40x50xbf16>) -> tensor<8xbf16>
  func.return %sum : tensor<8xbf16>
}
