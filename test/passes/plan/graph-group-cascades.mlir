// RUN: tlf-opt %s --target h200 -p "graph-decompose,graph-hoist-scales,graph-group" --split-input-file | filecheck %s
// RUN: tlf-opt %s --target npu -p "graph-decompose,graph-hoist-scales,graph-group{level=L1}" --split-input-file | filecheck %s --check-prefix=NPU
// RUN: tlf-opt %s --target h200 -p "graph-decompose,graph-hoist-scales,graph-group{cascades=false}" --split-input-file | filecheck %s --check-prefix=APART

// An attention written out runs as one.
// CHECK-LABEL: func.func @attention
// CHECK-COUNT-1: graph.group ins
// CHECK-NOT:     graph.group ins
// NPU-LABEL: func.func @attention
// NPU-COUNT-1: graph.group ins
// NPU-NOT:     graph.group ins
// APART-LABEL: func.func @attention
// APART-COUNT-3: graph.group ins
func.func @attention(%q: tensor<8x1024x64xf16>, %k: tensor<8x64x1024xf16>, %v: tensor<8x1024x64xf16>, %b: tensor<1024x1024xf16>) -> tensor<8x1024x64xf16> {
  %s = graph.matmul %q, %k : (tensor<8x1024x64xf16>, tensor<8x64x1024xf16>) -> tensor<8x1024x1024xf16>
  %t = graph.add %s, %b : (tensor<8x1024x1024xf16>, tensor<1024x1024xf16>) -> tensor<8x1024x1024xf16>
  %p = graph.softmax %t axis 2 : (tensor<8x1024x1024xf16>) -> tensor<8x1024x1024xf16>
  %o = graph.matmul %p, %v : (tensor<8x1024x1024xf16>, tensor<8x1024x64xf16>) -> tensor<8x1024x64xf16>
  func.return %o : tensor<8x1024x64xf16>
}

// -----

// Rows and columns are two axes, though the numbers of both come from one tensor.
// CHECK-LABEL: func.func @documents
// CHECK-COUNT-1: graph.group ins
// CHECK-NOT:     graph.group ins
// NPU-LABEL: func.func @documents
func.func @documents(%q: tensor<8x1024x64xf16>, %k: tensor<8x64x1024xf16>, %v: tensor<8x1024x64xf16>, %d: tensor<1024xi32>) -> tensor<8x1024x64xf16> {
  %hidden = graph.constant dense<0xFC00> : tensor<f16>
  %s = graph.matmul %q, %k : (tensor<8x1024x64xf16>, tensor<8x64x1024xf16>) -> tensor<8x1024x1024xf16>
  %r = graph.reshape %d : (tensor<1024xi32>) -> tensor<1024x1xi32>
  %e = graph.compare %r, %d <eq> : (tensor<1024x1xi32>, tensor<1024xi32>) -> tensor<1024x1024xi1>
  %t = graph.select %e, %s, %hidden : (tensor<1024x1024xi1>, tensor<8x1024x1024xf16>, tensor<f16>) -> tensor<8x1024x1024xf16>
  %p = graph.softmax %t axis 2 : (tensor<8x1024x1024xf16>) -> tensor<8x1024x1024xf16>
  %o = graph.matmul %p, %v : (tensor<8x1024x1024xf16>, tensor<8x1024x64xf16>) -> tensor<8x1024x64xf16>
  func.return %o : tensor<8x1024x64xf16>
}

// -----

// Scores that are needed elsewhere are computed once, and stay apart.
// CHECK-LABEL: func.func @scores
// NPU-LABEL: func.func @scores
// CHECK-COUNT-2: graph.group ins
func.func @scores(%q: tensor<8x1024x64xf16>, %k: tensor<8x64x1024xf16>, %v: tensor<8x1024x64xf16>) -> (tensor<8x1024x64xf16>, tensor<8x1024x1024xf16>) {
  %s = graph.matmul %q, %k : (tensor<8x1024x64xf16>, tensor<8x64x1024xf16>) -> tensor<8x1024x1024xf16>
  %p = graph.softmax %s axis 2 : (tensor<8x1024x1024xf16>) -> tensor<8x1024x1024xf16>
  %o = graph.matmul %p, %v : (tensor<8x1024x1024xf16>, tensor<8x1024x64xf16>) -> tensor<8x1024x64xf16>
  func.return %o, %s : tensor<8x1024x64xf16>, tensor<8x1024x1024xf16>
}

// -----

// Variances in two passes are no sum that a factor corrects.
// CHECK-LABEL: func.func @variance
// CHECK-COUNT-2: graph.group ins
func.func @variance(%q: tensor<1024x64xf16>, %k: tensor<64x65536xf16>) -> tensor<1024x1xf32> {
  %s = graph.matmul %q, %k : (tensor<1024x64xf16>, tensor<64x65536xf16>) -> tensor<1024x65536xf32>
  %m = graph.reduce %s <sum> axes [1] keepdims : (tensor<1024x65536xf32>) -> tensor<1024x1xf32>
  %d = graph.sub %s, %m : (tensor<1024x65536xf32>, tensor<1024x1xf32>) -> tensor<1024x65536xf32>
  %q2 = graph.mul %d, %d : (tensor<1024x65536xf32>, tensor<1024x65536xf32>) -> tensor<1024x65536xf32>
  %v = graph.reduce %q2 <sum> axes [1] keepdims : (tensor<1024x65536xf32>) -> tensor<1024x1xf32>
  func.return %v : tensor<1024x1xf32>
}

// -----

// Rows short enough to be in one tile are reduced behind the product that makes them,
// which has the loop.
// CHECK-LABEL: func.func @gate
// CHECK-COUNT-1: graph.group ins
// CHECK-NOT:     graph.group ins
// NPU-LABEL: func.func @gate
// NPU-COUNT-1: graph.group ins
// NPU-NOT:     graph.group ins
// APART-LABEL: func.func @gate
// APART-COUNT-2: graph.group ins
func.func @gate(%x: tensor<8192x256xbf16>, %w: tensor<256x16xbf16>) -> tensor<8192x16xf32> {
  %s = graph.matmul %x, %w : (tensor<8192x256xbf16>, tensor<256x16xbf16>) -> tensor<8192x16xf32>
  %p = graph.softmax %s axis 1 : (tensor<8192x16xf32>) -> tensor<8192x16xf32>
  func.return %p : tensor<8192x16xf32>
}

// -----

// Two products of the same rows of a softmax, of 64 and 48 columns, are one loop.
// CHECK-LABEL: func.func @two
// CHECK-COUNT-1: graph.group ins
// CHECK-NOT:     graph.group ins
// NPU-LABEL: func.func @two
// NPU-COUNT-1: graph.group ins
// NPU-NOT:     graph.group ins
// APART-LABEL: func.func @two
// APART-COUNT-4: graph.group ins
func.func @two(%q: tensor<8x1024x64xf16>, %k: tensor<8x64x1024xf16>, %v: tensor<8x1024x64xf16>, %w: tensor<8x1024x48xf16>) -> (tensor<8x1024x64xf16>, tensor<8x1024x48xf16>) {
  %s = graph.matmul %q, %k : (tensor<8x1024x64xf16>, tensor<8x64x1024xf16>) -> tensor<8x1024x1024xf16>
  %p = graph.softmax %s axis 2 : (tensor<8x1024x1024xf16>) -> tensor<8x1024x1024xf16>
  %o = graph.matmul %p, %v : (tensor<8x1024x1024xf16>, tensor<8x1024x64xf16>) -> tensor<8x1024x64xf16>
  %u = graph.matmul %p, %w : (tensor<8x1024x1024xf16>, tensor<8x1024x48xf16>) -> tensor<8x1024x48xf16>
  func.return %o, %u : tensor<8x1024x64xf16>, tensor<8x1024x48xf16>
}
