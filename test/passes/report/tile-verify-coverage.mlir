// RUN: tlf-opt %s -p tile-verify-coverage --split-input-file | filecheck %s

!near = tensor<4x8xf32, #tile.encoding<L2>>
!tile = tensor<3x8xf32, #tile.encoding<L1>>

// Tiles of tiles, the last ones clipped: three tiles make the result.
// CHECK-LABEL: func.func @levels
// CHECK-SAME:    passed "tile-verify-coverage" "tiles write every element once" at "%a", "%b"
// CHECK-SAME:    tlf.stitched = [3 : i64]
func.func @levels(%x: tensor<10x8xf32>) -> tensor<10x8xf32> {
  %e = tile.empty : tensor<10x8xf32>
  %a = tile.while (%i = 0 to 10 step 4) parallel mapping(loop) into(%o = %e : tensor<10x8xf32>) {
    %t = tile.slice %x[%i, 0] : tensor<10x8xf32> -> !near
    %f = tile.empty : !near
    %b = tile.while (%j = 0 to 4 step 3) parallel mapping(loop) into(%p = %f : !near) {
      %u = tile.slice %t[%j, 0] : !near -> !tile
      %m = tile.deslice %u into %p[%j, 0] : !tile into !near
      tile.yield %m : !near
    }
    %n = tile.deslice %b into %o[%i, 0] : !near into tensor<10x8xf32>
    tile.yield %n : tensor<10x8xf32>
  }
  func.return %a : tensor<10x8xf32>
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>

// Two tiles of one iteration. What is in order may write again.
// CHECK-LABEL: func.func @twice
// CHECK-SAME:    passed "tile-verify-coverage" "tiles write every element, later iterations in order over earlier ones" at "%a"
// CHECK-SAME:    tlf.stitched = [8 : i64]
func.func @twice(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tile.empty : tensor<8xf32>
  %a = tile.while (%i = 0 to 7 step 2) sequential mapping(loop) carry(%o = %e : tensor<8xf32>) {
    %t = tile.slice %x[%i] : tensor<8xf32> -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into tensor<8xf32>
    %m = tile.deslice %t into %n[0] : !tile into tensor<8xf32>
    tile.yield %m : tensor<8xf32>
  }
  func.return %a : tensor<8xf32>
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>

// What is left out of a tensor that is there stays as it is.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME:    passed "tile-verify-coverage" "tiles write disjoint boxes of an existing tensor" at "%a"
// CHECK-SAME:    tlf.stitched = [2 : i64]
func.func @in_place(%x: tensor<12xf32>) -> tensor<12xf32> {
  %e = tile.fill 0.0 : f32 : tensor<12xf32>
  %a = tile.while (%i = 4 to 12 step 4) parallel mapping(loop) into(%o = %e : tensor<12xf32>) {
    %t = tile.slice %x[%i] : tensor<12xf32> -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into tensor<12xf32>
    tile.yield %n : tensor<12xf32>
  }
  func.return %a : tensor<12xf32>
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>

// Where an offset is not known, nothing is certified.
// CHECK-LABEL: func.func @unknown
// CHECK-SAME:    missed "tile-verify-coverage" "cannot prove: an offset or a bound depends on other values" at "%a"
// CHECK-NOT:     tlf.stitched
func.func @unknown(%x: tensor<12xf32>, %j: index) -> tensor<12xf32> {
  %e = tile.empty : tensor<12xf32>
  %a = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %e : tensor<12xf32>) {
    %t = tile.slice %x[%i] : tensor<12xf32> -> !tile
    %n = tile.deslice %t into %o[%j] : !tile into tensor<12xf32>
    tile.yield %n : tensor<12xf32>
  }
  func.return %a : tensor<12xf32>
}

// -----

!near = tensor<4xf32, #tile.encoding<L2>>
!tile = tensor<2xf32, #tile.encoding<L1>>

// A tile that is left incomplete.
// CHECK-LABEL: func.func @inside
// CHECK-SAME:    missed "tile-verify-coverage" "cannot prove: no tile is written at [2]" at "%b"
// CHECK-NOT:     tlf.stitched
func.func @inside(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tile.empty : tensor<8xf32>
  %a = tile.while (%i = 0 to 8 step 4) parallel mapping(loop) into(%o = %e : tensor<8xf32>) {
    %t = tile.slice %x[%i] : tensor<8xf32> -> !near
    %f = tile.empty : !near
    %b = tile.while (%j = 0 to 2 step 2) parallel mapping(loop) into(%p = %f : !near) {
      %u = tile.slice %t[%j] : !near -> !tile
      %m = tile.deslice %u into %p[%j] : !tile into !near
      tile.yield %m : !near
    }
    %n = tile.deslice %b into %o[%i] : !near into tensor<8xf32>
    tile.yield %n : tensor<8xf32>
  }
  func.return %a : tensor<8xf32>
}
