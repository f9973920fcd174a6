// RUN: tlf-opt %s --target h200 -p graph-select-tile-sizes | filecheck %s

// A large product gets what the target prefers: nothing is cheaper by the model.
// CHECK-LABEL: func.func @large
// CHECK:         plan #graph.plan<L1, tile [128, 256], reduce [64], mapping grid>
func.func @large(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> (tensor<4096x4096xf32>) {
    %0 = graph.matmul %a, %b : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xf32>
    graph.yield %0 : tensor<4096x4096xf32>
  }
  func.return %y : tensor<4096x4096xf32>
}

// A small result of a long reduction is cut into more programs, with longer steps.
// CHECK-LABEL: func.func @deep
// CHECK:         plan #graph.plan<L1, tile [{{(16|32|64)}}, {{(16|32)}}], reduce [{{(256|512|1024)}}], mapping grid{{.*}}>
func.func @deep(%x: tensor<64x16384xf16>, %w: tensor<16384x64xf16>) -> tensor<64x64xf16> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<64x16384xf16>, tensor<16384x64xf16>) -> (tensor<64x64xf16>) {
    %0 = graph.matmul %a, %b : (tensor<64x16384xf16>, tensor<16384x64xf16>) -> tensor<64x64xf16>
    graph.yield %0 : tensor<64x64xf16>
  }
  func.return %y : tensor<64x64xf16>
}

// Sums of columns take several columns at once, so that sectors are read whole.
// CHECK-LABEL: func.func @columns
// CHECK:         plan #graph.plan<L1, tile [{{(8|16|32|64)}}], reduce [{{.*}}], mapping grid>
func.func @columns(%x: tensor<4096x4096xf32>) -> tensor<4096xf32> {
  %y = graph.group ins(%a = %x : tensor<4096x4096xf32>) -> (tensor<4096xf32>) {
    %0 = graph.reduce %a <sum> axes [0] : (tensor<4096x4096xf32>) -> tensor<4096xf32>
    graph.yield %0 : tensor<4096xf32>
  }
  func.return %y : tensor<4096xf32>
}

// So does a transposition, which has rows on both sides.
// CHECK-LABEL: func.func @turned
// CHECK:         plan #graph.plan<L1, tile [{{(8|16|32|64)}}, {{.*}}], mapping grid>
func.func @turned(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %y = graph.group ins(%a = %x : tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>) {
    %0 = graph.transpose %a permutation [1, 0] : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    graph.yield %0 : tensor<4096x4096xf32>
  }
  func.return %y : tensor<4096x4096xf32>
}

// Rows of a softmax stay whole.
// CHECK-LABEL: func.func @rows
// CHECK:         plan #graph.plan<L1, tile [{{[0-9]+}}, 4096], {{.*}}mapping grid>
func.func @rows(%x: tensor<100x3000xf32>) -> tensor<100x3000xf32> {
  %y = graph.group ins(%a = %x : tensor<100x3000xf32>) -> (tensor<100x3000xf32>) {
    %0 = graph.reduce %a <max> axes [1] keepdims : (tensor<100x3000xf32>) -> tensor<100x1xf32>
    %1 = graph.sub %a, %0 : (tensor<100x3000xf32>, tensor<100x1xf32>) -> tensor<100x3000xf32>
    graph.yield %1 : tensor<100x3000xf32>
  }
  func.return %y : tensor<100x3000xf32>
}
