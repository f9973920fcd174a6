// RUN: tlf-opt %s --target npu -p npu-pipeline --split-input-file --verify-diagnostics

!tile = tensor<16x8xf32, #tile.encoding<L2>>

// Tiles that a program brings along, each half over the one before.
func.func @overlap(%x: tensor<100x8xf32>) -> tensor<100x8xf32> {
  %e = tile.empty : tensor<100x8xf32>
  %r = tile.while (%i = 0 to 100 step 8) parallel mapping(loop) into(%o = %e : tensor<100x8xf32>) {
    %t = tile.slice %x[%i, 0] : tensor<100x8xf32> -> !tile
    // expected-error@+1 {{expected disjoint tiles, got: iterations (%i = 8) and (%i = 0)}}
    %n = tile.deslice %t into %o[%i, 0] : !tile into tensor<100x8xf32>
    tile.yield %n : tensor<100x8xf32>
  }
  func.return %r : tensor<100x8xf32>
}

// -----

!tile = tensor<16x8xf32, #tile.encoding<L2>>

func.func @gap(%x: tensor<100x8xf32>) -> tensor<100x8xf32> {
  %e = tile.empty : tensor<100x8xf32>
  // expected-error@+1 {{expected tiles that cover the result, got none at [16, 0]}}
  %r = tile.while (%i = 0 to 100 step 32) parallel mapping(loop) into(%o = %e : tensor<100x8xf32>) {
    %t = tile.slice %x[%i, 0] : tensor<100x8xf32> -> !tile
    %n = tile.deslice %t into %o[%i, 0] : !tile into tensor<100x8xf32>
    tile.yield %n : tensor<100x8xf32>
  }
  func.return %r : tensor<100x8xf32>
}
