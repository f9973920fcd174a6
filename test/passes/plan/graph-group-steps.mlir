// RUN: tlf-opt %s --target h200 -p graph-decompose,graph-hoist-scales,graph-group --split-input-file | filecheck %s

// Reductions of one loop say how they start, what they add, and by what they are corrected
// when another one changes.
// CHECK-LABEL: func.func @attention
// CHECK:         graph.reduce {{.*}} <max> axes [2] keepdims {tlf.step = #graph.step<0 initial "-inf" combine "max">}
// CHECK:         graph.reduce {{.*}} <sum> axes [2] keepdims {tlf.step = #graph.step<1 initial "0" combine "sum" correction "exp(r0 - r0')" finalise "exp(r0 - r0')">}
// CHECK:         graph.matmul {{.*}} {tlf.step = #graph.step<2 initial "0" combine "sum" correction "exp(r0 - r0')" finalise "exp(r0 - r0')">}
func.func @attention(%q: tensor<64x4096x64xf16>, %k: tensor<64x64x4096xf16>, %v: tensor<64x4096x64xf16>) -> tensor<64x4096x64xf16> {
  %s = graph.matmul %q, %k : (tensor<64x4096x64xf16>, tensor<64x64x4096xf16>) -> tensor<64x4096x4096xf16>
  %p = graph.softmax %s axis 2 : (tensor<64x4096x4096xf16>) -> tensor<64x4096x4096xf16>
  %y = graph.matmul %p, %v : (tensor<64x4096x4096xf16>, tensor<64x4096x64xf16>) -> tensor<64x4096x64xf16>
  func.return %y : tensor<64x4096x64xf16>
}

// -----

// One reduction alone is no step of a loop with others.
// CHECK-LABEL: func.func @alone
// CHECK-NOT:     tlf.step
func.func @alone(%x: tensor<4096x512xf32>) -> tensor<4096xf32> {
  %0 = graph.exp %x : tensor<4096x512xf32>
  %1 = graph.reduce %0 <sum> axes [1] : (tensor<4096x512xf32>) -> tensor<4096xf32>
  func.return %1 : tensor<4096xf32>
}

// -----

// The first of the greatest elements is looked for again where a greater one comes.
// CHECK-LABEL: func.func @place
// CHECK:         graph.reduce {{.*}} <max> axes [1] keepdims {tlf.step = #graph.step<0 initial "-inf" combine "max">}
// CHECK:         graph.reduce {{.*}} <min> axes [1] {tlf.step = #graph.step<1 initial "2147483647" combine "min" correction "restart if r0 != r0'">}
func.func @place(%x: tensor<8192x512xf16>, %w: tensor<512x4096xf16>) -> tensor<8192xi64> {
  %s = graph.matmul %x, %w : (tensor<8192x512xf16>, tensor<512x4096xf16>) -> tensor<8192x4096xf16>
  %y = graph.arg_reduce %s <max> axis 1 : (tensor<8192x4096xf16>) -> tensor<8192xi64>
  func.return %y : tensor<8192xi64>
}
