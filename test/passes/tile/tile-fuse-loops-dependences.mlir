// RUN: tlf-opt %s -p tile-fuse-loops --split-input-file | filecheck %s

// A dependence that would go backwards, or that parallel iterations would have.

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// CHECK: missed "tile-fuse-loops" "not fused with %a: the second nest reads what the first writes (RAW) at a distance of (-1)" at "%b"
func.func @true_backward(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) sequential mapping(loop) carry(%o = %e : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %b = tile.while (%i = 0 to 12 step 4) sequential mapping(loop) carry(%o = %f : !whole) {
    %s = affine.apply affine_map<(d0) -> (d0 + 1)> (%i)
    %t = tile.slice %a[%s] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %a, %b : !whole, !whole
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// CHECK: missed "tile-fuse-loops" "not fused with %a: the second nest reads what the first writes (RAW) at a distance of (1)" at "%b"
func.func @true_forward(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %e : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %b = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %f : !whole) {
    %s = affine.apply affine_map<(d0) -> (d0 - 4)> (%i)
    %t = tile.slice %a[%s] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %a, %b : !whole, !whole
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// CHECK: missed "tile-fuse-loops" "not fused with %a: the second nest writes what the first reads (WAR) at a distance of (-1)" at "%b"
func.func @anti_backward(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) sequential mapping(loop) carry(%o = %e : !whole) {
    %s = affine.apply affine_map<(d0) -> (d0 - 4)> (%i)
    %t = tile.slice %d[%s] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %b = tile.while (%i = 0 to 12 step 4) sequential mapping(loop) carry(%o = %d : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %a, %b : !whole, !whole
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// CHECK: missed "tile-fuse-loops" "not fused with %a: the second nest writes what the first reads (WAR) at a distance of (1)" at "%b"
func.func @anti_forward(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %e : !whole) {
    %s = affine.apply affine_map<(d0) -> (d0 + 4)> (%i)
    %t = tile.slice %d[%s] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %b = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %d : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %a, %b : !whole, !whole
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// CHECK: missed "tile-fuse-loops" "not fused with %a: both nests write an element (WAW) at a distance of (-1)" at "%b"
func.func @output_backward(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) sequential mapping(loop) carry(%o = %e : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %b = tile.while (%i = 0 to 12 step 4) sequential mapping(loop) carry(%o = %a : !whole) {
    %w = affine.apply affine_map<(d0) -> (d0 + 4)> (%i)
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%w] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %x, %b : !whole, !whole
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// CHECK: missed "tile-fuse-loops" "not fused with %a: both nests write an element (WAW) at a distance of (1)" at "%b"
func.func @output_forward(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %e : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %b = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %a : !whole) {
    %w = affine.apply affine_map<(d0) -> (d0 - 4)> (%i)
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%w] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %x, %b : !whole, !whole
}
