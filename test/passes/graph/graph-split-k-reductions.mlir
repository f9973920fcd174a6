// RUN: tlf-opt %s --target h200 -p "graph-decompose,tidy,graph-split-k-reductions,tidy" --split-input-file | filecheck %s
// RUN: tlf-opt %s --target npu -p "graph-decompose,tidy,graph-split-k-reductions,tidy" --split-input-file | filecheck %s --check-prefix=WHOLE
// RUN: tlf-opt %s -p "graph-decompose,tidy,graph-split-k-reductions,tidy" --split-input-file | filecheck %s --check-prefix=WHOLE

// WHOLE-NOT: graph-split-k-reductions

// The sum of a long vector: sums of parts, and their sum.
// CHECK-LABEL: func.func @total
// CHECK-SAME:    #graph.remark<passed "graph-split-k-reductions" "reduce of 4194304 elements is computed of [[P:[0-9]+]] parts"
// CHECK-NEXT:    [[X:%.*]] = graph.reshape %x : (tensor<4194304xf32>) -> tensor<[[P]]x[[L:[0-9]+]]xf32>
// CHECK-NEXT:    [[S:%.*]] = graph.reduce [[X]] <sum> axes [1] : (tensor<[[P]]x[[L]]xf32>) -> tensor<[[P]]xf32>
// CHECK-NEXT:    [[Y:%.*]] = graph.reduce [[S]] <sum> axes [0] : (tensor<[[P]]xf32>) -> tensor<f32>
// CHECK-NEXT:    func.return [[Y]]
func.func @total(%x: tensor<4194304xf32>) -> tensor<f32> {
  %y = graph.reduce %x <sum> axes [0] : (tensor<4194304xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// -----

// A product of long rows and few columns. Parts are not rounded.
// CHECK-LABEL: func.func @product
// CHECK:         graph.contract {{.*}} -> tensor<[[P:[0-9]+]]x64x512xf32>
// CHECK-NEXT:    graph.reduce {{.*}} <sum> axes [0] : (tensor<[[P]]x64x512xf32>) -> tensor<64x512xf32>
// CHECK-NEXT:    graph.cast
func.func @product(%x: tensor<64x16384xbf16>, %w: tensor<16384x512xbf16>) -> tensor<64x512xbf16> {
  %y = graph.matmul %x, %w : (tensor<64x16384xbf16>, tensor<16384x512xbf16>) -> tensor<64x512xbf16>
  func.return %y : tensor<64x512xbf16>
}

// -----

// What of a part has been added up with the greatest element of the part is corrected
// for the greatest one of all. Where a part has none but minus infinity, the least
// finite number stands for it.
// CHECK-LABEL: func.func @softmax
// CHECK:         [[X:%.*]] = graph.reshape %x
// CHECK-NEXT:    [[M:%.*]] = graph.reduce [[X]] <max> axes [2] keepdims : (tensor<2x[[P:[0-9]+]]x{{[0-9]+}}xf32>) -> tensor<2x[[P]]x1xf32>
// CHECK:         [[N:%.*]] = graph.maximum [[M]], {{.*}}
// CHECK:         [[ALL:%.*]] = graph.reduce [[M]] <max> axes [1]
// CHECK:         [[S:%.*]] = graph.reduce {{.*}} <sum> axes [2] keepdims
// CHECK:         [[D:%.*]] = graph.sub [[N]], {{.*}}
// CHECK-NEXT:    [[F:%.*]] = graph.exp [[D]]
// CHECK-NEXT:    [[T:%.*]] = graph.mul [[S]], [[F]]
// CHECK-NEXT:    graph.reduce [[T]] <sum> axes [1]
func.func @softmax(%x: tensor<2x131072xf32>) -> tensor<2x131072xf32> {
  %y = graph.softmax %x axis 1 : (tensor<2x131072xf32>) -> tensor<2x131072xf32>
  func.return %y : tensor<2x131072xf32>
}

// -----

// Rows for all processors, and parts too short to be worth it.
// CHECK-NOT: graph-split-k-reductions
func.func @rows(%x: tensor<65536x4096xf32>, %y: tensor<100xf32>) -> (tensor<65536xf32>, tensor<f32>) {
  %0 = graph.reduce %x <sum> axes [1] : (tensor<65536x4096xf32>) -> tensor<65536xf32>
  %1 = graph.reduce %y <sum> axes [0] : (tensor<100xf32>) -> tensor<f32>
  func.return %0, %1 : tensor<65536xf32>, tensor<f32>
}

// -----

// A reduction along no axis is none.
// CHECK-LABEL: func.func @nothing
// CHECK-NOT:     graph-split-k-reductions
func.func @nothing(%x: tensor<100xf32>) -> tensor<100xf32> {
  %0 = graph.reduce %x <sum> axes [] : (tensor<100xf32>) -> tensor<100xf32>
  func.return %0 : tensor<100xf32>
}

// -----

// What no tile can hold yet is left to the passes that follow.
// CHECK-LABEL: func.func @windows
// CHECK-NOT:     graph-split-k-reductions
func.func @windows(%x: tensor<1x6x7x3xf32>) -> tensor<1x6x3x1xf32> {
  %0 = graph.avg_pool2d %x kernel [2, 3] strides [3, 3] padding [1, 0, 1, 0] dilation [2, 1] : (tensor<1x6x7x3xf32>) -> tensor<1x6x3x1xf32>
  func.return %0 : tensor<1x6x3x1xf32>
}

// -----

// Partial results are stored up to 4 MiB, here two parts; the inputs of a larger program
// leave room for more.
// CHECK-LABEL: func.func @few
// CHECK-SAME:    matmul of 65536 elements is computed of 2 parts
func.func @few(%x: tensor<128x65536xbf16>, %w: tensor<65536x4096xbf16> {tlf.parameter}) -> tensor<128x4096xbf16> {
  %y = graph.matmul %x, %w : (tensor<128x65536xbf16>, tensor<65536x4096xbf16>) -> tensor<128x4096xbf16>
  func.return %y : tensor<128x4096xbf16>
}

// -----

// CHECK-LABEL: func.func @many
// CHECK-SAME:    matmul of 65536 elements is computed of 4 parts
func.func @many(%x: tensor<128x65536xbf16>, %w: tensor<65536x4096xbf16>) -> tensor<128x4096xbf16> {
  %y = graph.matmul %x, %w : (tensor<128x65536xbf16>, tensor<65536x4096xbf16>) -> tensor<128x4096xbf16>
  func.return %y : tensor<128x4096xbf16>
}
