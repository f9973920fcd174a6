// RUN: tlf-opt %s --target h200 -p "graph-group,graph-select-tile-sizes" | filecheck %s

// Tiles of elementwise operations have 4096 bytes of each tensor in memory.
// CHECK-LABEL: func.func @single
// CHECK:         plan #graph.plan<L1, tile [1, 1024], mapping grid>
func.func @single(%x: tensor<16384x8192xf32>) -> tensor<16384x8192xf32> {
  %y = graph.exp %x : tensor<16384x8192xf32>
  func.return %y : tensor<16384x8192xf32>
}

// CHECK-LABEL: func.func @half
// CHECK:         plan #graph.plan<L1, tile [1, 2048], mapping grid>
func.func @half(%x: tensor<16384x8192xbf16>) -> tensor<16384x8192xbf16> {
  %y = graph.exp %x : tensor<16384x8192xbf16>
  func.return %y : tensor<16384x8192xbf16>
}
