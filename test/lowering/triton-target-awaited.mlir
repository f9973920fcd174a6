// RUN: tlf-opt %s --target h200 -p "convert-graph-to-tile,tidy,convert-tile-to-mem,tidy,convert-mem-to-triton" -t "triton{parts=source}" | filecheck %s

// A factor that is summed, too, has one tile too few in shared memory: the product is
// waited for before what comes next is loaded.
// CHECK:      [[X:v[0-9]+]] = tl.load({{.*}}# %a
// CHECK:      [[W:v[0-9]+]] = tl.load({{.*}}# %b
// CHECK-NEXT: awaited(tl.dot([[X]], [[W]], acc=
// CHECK:      def awaited(x):

// Nothing else reads the factors.
// CHECK:      [[X2:v[0-9]+]] = d0.load([i0, k0])  # %a
// CHECK-NEXT: [[W2:v[0-9]+]] = d1.load([k0, 0])  # %b
// CHECK-NEXT: = tl.dot([[X2]], [[W2]], acc=
func.func @f(%x: tensor<256x512xbf16>, %w: tensor<512x128xbf16>)
    -> (tensor<256x128xf32>, tensor<256x128xf32>) {
  %summed = graph.group ins(%a = %x, %b = %w : tensor<256x512xbf16>, tensor<512x128xbf16>)
      plan #graph.plan<L1, tile [64, 128], reduce [64], mapping grid> -> (tensor<256x128xf32>) {
    %c = graph.cast %a : (tensor<256x512xbf16>) -> tensor<256x512xf32>
    %s = graph.reduce %c <sum> axes [1] keepdims : (tensor<256x512xf32>) -> tensor<256x1xf32>
    %p = graph.matmul %a, %b : (tensor<256x512xbf16>, tensor<512x128xbf16>) -> tensor<256x128xf32>
    %q = graph.mul %p, %s : (tensor<256x128xf32>, tensor<256x1xf32>) -> tensor<256x128xf32>
    graph.yield %q : tensor<256x128xf32>
  }
  %alone = graph.group ins(%a = %x, %b = %w : tensor<256x512xbf16>, tensor<512x128xbf16>)
      plan #graph.plan<L1, tile [64, 128], reduce [64], mapping grid> -> (tensor<256x128xf32>) {
    %p = graph.matmul %a, %b : (tensor<256x512xbf16>, tensor<512x128xbf16>) -> tensor<256x128xf32>
    %q = graph.exp %p : tensor<256x128xf32>
    graph.yield %q : tensor<256x128xf32>
  }
  func.return %summed, %alone : tensor<256x128xf32>, tensor<256x128xf32>
}
