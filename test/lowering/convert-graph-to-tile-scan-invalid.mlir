// RUN: not tlf-opt %s --split-input-file --target h200 -p convert-graph-to-tile 2>&1 | filecheck %s

// CHECK: error: graph.cumulate: expected tiles that follow each other along the scan
func.func @backwards(%x: tensor<64xf32>) -> tensor<32xf32> {
  %y = graph.group ins(%a = %x : tensor<64xf32>) plan #graph.plan<L1, tile [16], mapping grid> -> (tensor<32xf32>) {
    %0 = graph.cumulate %a <sum> axis 0 : (tensor<64xf32>) -> tensor<64xf32>
    %1 = graph.slice %0 offsets [32] strides [1] : (tensor<64xf32>) -> tensor<32xf32>
    graph.yield %1 : tensor<32xf32>
  }
  func.return %y : tensor<32xf32>
}

// -----

// CHECK: error: graph.cumulate: expected the whole axis of a scan that rounds at its end
func.func @rounded(%x: tensor<64xbf16>) -> tensor<64xbf16> {
  %y = graph.group ins(%a = %x : tensor<64xbf16>) plan #graph.plan<L1, tile [16], mapping grid> -> (tensor<64xbf16>) {
    %0 = graph.cumulate %a <sum> axis 0 : (tensor<64xbf16>) -> tensor<64xbf16>
    graph.yield %0 : tensor<64xbf16>
  }
  func.return %y : tensor<64xbf16>
}

// -----

// CHECK: error: graph.cumulate: expected one loop over the tiles of all scans
func.func @crossed(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = graph.group ins(%a = %x : tensor<64x64xf32>) plan #graph.plan<L1, tile [16, 16], mapping grid> -> (tensor<64x64xf32>) {
    %0 = graph.cumulate %a <sum> axis 0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = graph.cumulate %a <sum> axis 1 : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %2 = graph.add %0, %1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    graph.yield %2 : tensor<64x64xf32>
  }
  func.return %y : tensor<64x64xf32>
}

// -----

// CHECK: error: graph.cumulate: expected one loop over the tiles of all scans, in one direction
func.func @directions(%x: tensor<64xf32>) -> tensor<64xf32> {
  %y = graph.group ins(%a = %x : tensor<64xf32>) plan #graph.plan<L1, tile [16], mapping grid> -> (tensor<64xf32>) {
    %0 = graph.cumulate %a <sum> axis 0 : (tensor<64xf32>) -> tensor<64xf32>
    %1 = graph.cumulate %a <sum> axis 0 reverse : (tensor<64xf32>) -> tensor<64xf32>
    %2 = graph.add %0, %1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    graph.yield %2 : tensor<64xf32>
  }
  func.return %y : tensor<64xf32>
}
