// RUN: tlf-opt %s -p tile-fuse-loops --split-input-file | filecheck %s

// Nests that differ, or share a tensor in ways that are not boxes.

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// CHECK: missed "tile-fuse-loops" "not fused with %a: the nests differ in kind, mapping, order, stages or attributes" at "%b"
func.func @kinds(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %e : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %b = tile.while (%i = 0 to 12 step 4) sequential mapping(loop) carry(%o = %f : !whole) {
    %t = tile.slice %a[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %a, %b : !whole, !whole
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// CHECK: missed "tile-fuse-loops" "not fused with %a: the nests have different trip counts" at "%b"
func.func @trips(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %e : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %b = tile.while (%i = 0 to 9 step 2) parallel mapping(loop) into(%o = %f : !whole) {
    %t = tile.slice %a[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %a, %b : !whole, !whole
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// CHECK: missed "tile-fuse-loops" "not fused with %a: the second nest needs a result of the first as a whole" at "%b"
func.func @whole(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %e : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %b = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %f : !whole) {
    %r = graph.exp %a : !whole
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %a, %b : !whole, !whole
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// CHECK: missed "tile-fuse-loops" "not fused with %a: the tensor that the second nest overwrites has other uses" at "%b"
func.func @needed(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %e : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %b = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %a : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %a, %b : !whole, !whole
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// CHECK: missed "tile-fuse-loops" "not fused with %a: both nests write to one tensor, starting from the same value" at "%b"
func.func @twice(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %d : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
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

// CHECK: missed "tile-fuse-loops" "not fused with %a: the second nest reads the original value of a tensor that the first overwrites" at "%b"
func.func @before(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %d : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %b = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %f : !whole) {
    %t = tile.slice %d[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %a, %b : !whole, !whole
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>
!wide = tensor<6xf32, #tile.encoding<L1>>

// CHECK: missed "tile-fuse-loops" "not fused with %a: the second nest reads elements that no tile of the same iteration of the first contains" at "%b"
func.func @halo(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 4 step 4) parallel mapping(loop) into(%o = %e : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %b = tile.while (%i = 0 to 4 step 4) parallel mapping(loop) into(%o = %f : !whole) {
    %t = tile.slice %a[%i] : !whole -> !wide
    %n = tile.deslice %t into %o[%i] : !wide into !whole
    tile.yield %n : !whole
  }
  func.return %a, %b : !whole, !whole
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// CHECK: missed "tile-fuse-loops" "not fused with %a: the first nest reads a box other than its own tile of a tensor that the second overwrites" at "%b"
func.func @own(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 4 step 4) parallel mapping(loop) into(%o = %e : !whole) {
    %s = affine.apply affine_map<(d0) -> (d0 + 1)> (%i)
    %t = tile.slice %d[%s] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %b = tile.while (%i = 0 to 4 step 4) parallel mapping(loop) into(%o = %d : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %a, %b : !whole, !whole
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// CHECK: missed "tile-fuse-loops" "not fused with %a: an operation in between needs the first nest and feeds the second" at "%b"
func.func @path(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %e : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %c = graph.exp %a : !whole
  %b = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %f : !whole) {
    %q = tile.slice %c[%i] : !whole -> !tile
    %t = tile.slice %a[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %a, %b : !whole, !whole
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// CHECK: missed "tile-fuse-loops" "not fused with %a: an operation in between overwrites what the first nest reads" at "%b"
func.func @overwritten(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %e : !whole) {
    %t = tile.slice %d[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %g = tile.slice %x[0] : !whole -> !tile
  %c = tile.deslice %g into %d[0] : !tile into !whole
  %b = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %f : !whole) {
    %t = tile.slice %a[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %a, %b : !whole, !whole
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// CHECK: missed "tile-fuse-loops" "not fused with %a: an operation may have side effects" at "%b"
func.func @effects(%x: !whole) -> (!whole, !whole) {
  %d = tile.fill 0.0 : f32 : !whole
  %e = tile.empty : !whole
  %f = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %e : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %b = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %f : !whole) {
    "test.op"() : () -> ()
    %t = tile.slice %a[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %a, %b : !whole, !whole
}
