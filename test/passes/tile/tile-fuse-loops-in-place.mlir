// RUN: tlf-opt %s -p tile-fuse-loops,tidy --split-input-file | filecheck %s

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// Both write one tensor, in the same iteration the same tile: that of the first goes.
// CHECK-LABEL: func.func @output
// CHECK:         %b = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %e : tensor<12xf32>) {
// CHECK-NEXT:      %t = tile.slice %x[%i]
// CHECK-NEXT:      %u = graph.exp %t
// CHECK-NEXT:      %v = graph.relu %u
// CHECK-NEXT:      [[N:%.*]] = tile.deslice %v into %o[%i]
// CHECK-NEXT:      tile.yield [[N]]
func.func @output(%x: !whole) -> !whole {
  %e = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %e : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %u = graph.exp %t : !tile
    %n = tile.deslice %u into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %b = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %a : !whole) {
    %t = tile.slice %a[%i] : !whole -> !tile
    %v = graph.relu %t : !tile
    %n = tile.deslice %v into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %b : !whole
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>
!whole = tensor<12xf32>

// The second overwrites what the first reads, an iteration its own tile.
// CHECK-LABEL: func.func @anti
// CHECK:         %a, %b = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into({{.*}}, [[O:%.*]] = %d : tensor<12xf32>) {
// CHECK:           tile.slice %d[%i]
// CHECK:           tile.deslice {{.*}} into [[O]][%i]
func.func @anti(%x: !whole) -> (!whole, !whole) {
  %z = tile.fill 0.0 : f32 : !whole
  %d = graph.add %x, %z : (!whole, !whole) -> !whole
  %e = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) parallel mapping(loop) into(%o = %e : !whole) {
    %t = tile.slice %d[%i] : !whole -> !tile
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

// In order, it may overwrite what an earlier iteration has read. What the first reads is
// then what the second carries, so that one place serves both.
// CHECK-LABEL: func.func @anti_in_order
// CHECK:         %a, %b = tile.while (%i = 0 to 12 step 4) sequential mapping(loop) carry({{.*}}, [[O:%.*]] = %x : tensor<12xf32>) {
// CHECK-NEXT:      %t = tile.slice [[O]][%i]
// CHECK:           [[J:%.*]] = affine.apply affine_map<(d0) -> ((d0 + -4))> (%i)
// CHECK:           tile.deslice {{.*}} into [[O]]{{\[}}[[J]]]
func.func @anti_in_order(%x: !whole, %y: !whole) -> (!whole, !whole) {
  %e = tile.empty : !whole
  %a = tile.while (%i = 0 to 12 step 4) sequential mapping(loop) carry(%o = %e : !whole) {
    %t = tile.slice %x[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into !whole
    tile.yield %n : !whole
  }
  %b = tile.while (%i = 0 to 12 step 4) sequential mapping(loop) carry(%o = %x : !whole) {
    %j = affine.apply affine_map<(d0) -> (d0 - 4)> (%i)
    %t = tile.slice %y[%i] : !whole -> !tile
    %n = tile.deslice %t into %o[%j] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %a, %b : !whole, !whole
}
