// RUN: tlf-opt %s -p tile-verify-coverage --split-input-file --verify-diagnostics

!tile = tensor<4xf32, #tile.encoding<L1>>

func.func @step(%x: tensor<12xf32>) -> tensor<12xf32> {
  %e = tile.empty : tensor<12xf32>
  %a = tile.while (%i = 0 to 12 step 3) parallel mapping(loop) into(%o = %e : tensor<12xf32>) {
    %t = tile.slice %x[%i] : tensor<12xf32> -> !tile
    // expected-error@+1 {{expected disjoint tiles, got: iterations (%i = 3) and (%i = 0) write the same element}}
    %n = tile.deslice %t into %o[%i] : !tile into tensor<12xf32>
    tile.yield %n : tensor<12xf32>
  }
  func.return %a : tensor<12xf32>
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>

func.func @still(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tile.empty : tensor<4xf32>
  %a = tile.while (%i = 0 to 4 step 4, %j = 0 to 2 step 1) parallel mapping(loop) into(%o = %e : tensor<4xf32>) {
    %t = tile.slice %x[%i] : tensor<4xf32> -> !tile
    // expected-error@+1 {{iterations (%i = 0, %j = 1) and (%i = 0, %j = 0) write the same element}}
    %n = tile.deslice %t into %o[%i] : !tile into tensor<4xf32>
    tile.yield %n : tensor<4xf32>
  }
  func.return %a : tensor<4xf32>
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>

func.func @last(%x: tensor<12xf32>) -> tensor<12xf32> {
  %e = tile.empty : tensor<12xf32>
  // expected-error@+1 {{expected tiles that cover the result, got none at [8]}}
  %a = tile.while (%i = 0 to 8 step 4) parallel mapping(loop) into(%o = %e : tensor<12xf32>) {
    %t = tile.slice %x[%i] : tensor<12xf32> -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into tensor<12xf32>
    tile.yield %n : tensor<12xf32>
  }
  func.return %a : tensor<12xf32>
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>

// Two tiles of parallel iterations, of which one moves down and one up.
func.func @crossing(%x: tensor<16xf32>) -> tensor<16xf32> {
  %e = tile.empty : tensor<16xf32>
  %a = tile.while (%i = 0 to 16 step 4) parallel mapping(loop) into(%o = %e : tensor<16xf32>) {
    %t = tile.slice %x[%i] : tensor<16xf32> -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into tensor<16xf32>
    %d = affine.apply affine_map<(d0) -> (12 - d0)> (%i)
    // expected-error@+1 {{expected disjoint tiles}}
    %m = tile.deslice %t into %n[%d] : !tile into tensor<16xf32>
    tile.yield %m : tensor<16xf32>
  }
  func.return %a : tensor<16xf32>
}
