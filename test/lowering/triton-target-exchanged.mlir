// RUN: tlf-opt %s --target h200 -p "convert-graph-to-tile,tidy,convert-tile-to-mem,tidy,convert-mem-to-triton" -t "triton{parts=source}" | filecheck %s

// What is computed with its rows side by side is the right factor: as the left one, each
// group of warps would compute it. The loop carries the product as it is then.
// CHECK:      def f_0(
// CHECK:      for k
// CHECK:        [[X:v[0-9]+]] = tl.load({{.*}}# %a
// CHECK-NEXT:   [[E:v[0-9]+]] = to_bf16x2(tl.exp2([[X]]
// CHECK-NEXT:   r{{[0-9]+}} =
// CHECK-NEXT:   [[W:v[0-9]+]] = tl.load({{.*}}# %b
// CHECK-NEXT:   [[T:v[0-9]+]] = tl.trans([[W]], (1, 0))
// CHECK-NEXT:   tl.dot([[T]], [[E]], acc=c0
// CHECK:      tl.trans(

// So is what a sum reads, too.
// CHECK:      def f_1(
// CHECK:      [[X:v[0-9]+]] = tl.load({{.*}}# %a
// CHECK-NEXT: [[E:v[0-9]+]] = to_bf16x2(tl.exp2([[X]]
// CHECK:      tl.sum(
// CHECK:      [[T:v[0-9]+]] = tl.trans([[E]], (1, 0))
// CHECK-NEXT: tl.trans(tl.dot({{v[0-9]+}}, [[T]], acc=

// And what narrow instructions would take several times.
// CHECK:      def f_2(
// CHECK:      [[X:v[0-9]+]] = tl.load({{.*}}# %a
// CHECK-NEXT: [[E:v[0-9]+]] = to_bf16x2(tl.exp2([[X]]
// CHECK:      [[T:v[0-9]+]] = tl.trans([[E]], (1, 0))
// CHECK-NEXT: tl.trans(tl.dot({{v[0-9]+}}, [[T]], acc=

// What nothing else needs stays in the registers of the threads that computed it.
// CHECK:      def f_3(
// CHECK:      [[X:v[0-9]+]] = tl.load({{.*}}# %a
// CHECK-NEXT: [[E:v[0-9]+]] = to_bf16x2(tl.exp2([[X]]
// CHECK-NOT:  tl.trans
// CHECK:      tl.dot([[E]], {{v[0-9]+}}, acc=
func.func @f(%x: tensor<512x128xbf16>, %y: tensor<512x64xbf16>, %w: tensor<64x64xbf16>)
    -> (tensor<128x64xf32>, tensor<512x64xf32>, tensor<512x64xf32>, tensor<512x64xf32>) {
  %turned = graph.group ins(%a = %x, %b = %y : tensor<512x128xbf16>, tensor<512x64xbf16>)
      plan #graph.plan<L1, tile [64, 64], reduce [64], mapping grid> -> (tensor<128x64xf32>) {
    %e = graph.exp %a : tensor<512x128xbf16>
    %p = graph.contract %e, %b maps [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        : (tensor<512x128xbf16>, tensor<512x64xbf16>) -> tensor<128x64xf32>
    graph.yield %p : tensor<128x64xf32>
  }
  %summed = graph.group ins(%a = %y, %b = %w : tensor<512x64xbf16>, tensor<64x64xbf16>)
      plan #graph.plan<L1, tile [64, 64], mapping grid> -> (tensor<512x64xf32>) {
    %e = graph.exp %a : tensor<512x64xbf16>
    %c = graph.cast %e : (tensor<512x64xbf16>) -> tensor<512x64xf32>
    %s = graph.reduce %c <sum> axes [1] keepdims : (tensor<512x64xf32>) -> tensor<512x1xf32>
    %p = graph.matmul %e, %b : (tensor<512x64xbf16>, tensor<64x64xbf16>) -> tensor<512x64xf32>
    %q = graph.mul %p, %s : (tensor<512x64xf32>, tensor<512x1xf32>) -> tensor<512x64xf32>
    graph.yield %q : tensor<512x64xf32>
  }
  %narrow = graph.group ins(%a = %y, %b = %w : tensor<512x64xbf16>, tensor<64x64xbf16>)
      plan #graph.plan<L1, tile [32, 64], mapping grid> -> (tensor<512x64xf32>) {
    %e = graph.exp %a : tensor<512x64xbf16>
    %p = graph.matmul %e, %b : (tensor<512x64xbf16>, tensor<64x64xbf16>) -> tensor<512x64xf32>
    graph.yield %p : tensor<512x64xf32>
  }
  %alone = graph.group ins(%a = %y, %b = %w : tensor<512x64xbf16>, tensor<64x64xbf16>)
      plan #graph.plan<L1, tile [64, 64], mapping grid> -> (tensor<512x64xf32>) {
    %e = graph.exp %a : tensor<512x64xbf16>
    %p = graph.matmul %e, %b : (tensor<512x64xbf16>, tensor<64x64xbf16>) -> tensor<512x64xf32>
    graph.yield %p : tensor<512x64xf32>
  }
  func.return %turned, %summed, %narrow, %alone : tensor<128x64xf32>, tensor<512x64xf32>, tensor<512x64xf32>, tensor<512x64xf32>
}
