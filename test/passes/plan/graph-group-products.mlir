// RUN: tlf-opt %s --target h200 -p "graph-decompose,graph-group" --split-input-file | filecheck %s

// Products of one tensor whose results meet run in one loop, so that neither is stored.
// CHECK-LABEL: func.func @gated
// CHECK-COUNT-1: graph.group ins
// CHECK-NOT:     graph.group ins
func.func @gated(%x: tensor<1024x4096xbf16>, %g: tensor<4096x14336xbf16>, %u: tensor<4096x14336xbf16>) -> tensor<1024x14336xbf16> {
  %0 = graph.matmul %x, %g : (tensor<1024x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<1024x14336xbf16>
  %1 = graph.matmul %x, %u : (tensor<1024x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<1024x14336xbf16>
  %2 = graph.silu %0 : tensor<1024x14336xbf16>
  %3 = graph.mul %2, %1 : (tensor<1024x14336xbf16>, tensor<1024x14336xbf16>) -> tensor<1024x14336xbf16>
  func.return %3 : tensor<1024x14336xbf16>
}

// -----

// So do three, whose accumulators fit into the registers of eight warps.
// CHECK-LABEL: func.func @three
// CHECK-COUNT-1: graph.group ins
// CHECK-NOT:     graph.group ins
func.func @three(%x: tensor<2048x2048xbf16>, %a: tensor<2048x4096xbf16>, %b: tensor<2048x4096xbf16>, %c: tensor<2048x4096xbf16>) -> tensor<2048x4096xbf16> {
  %0 = graph.matmul %x, %a : (tensor<2048x2048xbf16>, tensor<2048x4096xbf16>) -> tensor<2048x4096xbf16>
  %1 = graph.matmul %x, %b : (tensor<2048x2048xbf16>, tensor<2048x4096xbf16>) -> tensor<2048x4096xbf16>
  %2 = graph.matmul %x, %c : (tensor<2048x2048xbf16>, tensor<2048x4096xbf16>) -> tensor<2048x4096xbf16>
  %3 = graph.mul %0, %1 : (tensor<2048x4096xbf16>, tensor<2048x4096xbf16>) -> tensor<2048x4096xbf16>
  %4 = graph.add %3, %2 : (tensor<2048x4096xbf16>, tensor<2048x4096xbf16>) -> tensor<2048x4096xbf16>
  func.return %4 : tensor<2048x4096xbf16>
}

// -----

// Products of two tensors have no common axis.
// CHECK-LABEL: func.func @unrelated
// CHECK-COUNT-2: graph.group ins
// CHECK-NOT:     graph.group ins
func.func @unrelated(%x: tensor<1024x4096xbf16>, %y: tensor<1024x4096xbf16>, %g: tensor<4096x14336xbf16>, %u: tensor<4096x14336xbf16>) -> tensor<1024x14336xbf16> {
  %0 = graph.matmul %x, %g : (tensor<1024x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<1024x14336xbf16>
  %1 = graph.matmul %y, %u : (tensor<1024x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<1024x14336xbf16>
  %2 = graph.mul %0, %1 : (tensor<1024x14336xbf16>, tensor<1024x14336xbf16>) -> tensor<1024x14336xbf16>
  func.return %2 : tensor<1024x14336xbf16>
}
