// RUN: tlf-opt %s -p tile-fuse-loops --split-input-file | filecheck %s

!tile = tensor<4x12xf32, #tile.encoding<L1>>

// A tile is used as it is. Its tensor goes; what lies outside of it is filled.
// CHECK-LABEL: func.func @chain
// CHECK-SAME:    passed "tile-fuse-loops" "nests run as one" at "%b"
// CHECK-NEXT:    %f = tile.empty
// CHECK-NEXT:    %b = tile.while (%i = 0 to 10 step 4) parallel mapping(loop) into(%o = %f : tensor<10x12xf32>) {
// CHECK-NEXT:      %t = tile.slice %x[%i, 0]
// CHECK-NEXT:      %u = graph.exp %t
// CHECK-NEXT:      [[M:%.*]] = tile.mask %u[%i, 0] bounds [10, 12] fill 0.0
// CHECK-NEXT:      [[V:%.*]] = graph.relu [[M]]
// CHECK-NEXT:      tile.deslice [[V]] into %o[%i, 0]
// CHECK-NEXT:      tile.yield
func.func @chain(%x: tensor<10x12xf32>) -> tensor<10x12xf32> {
  %e = tile.empty : tensor<10x12xf32>
  %a = tile.while (%i = 0 to 10 step 4) parallel mapping(loop) into(%o = %e : tensor<10x12xf32>) {
    %t = tile.slice %x[%i, 0] : tensor<10x12xf32> -> !tile
    %u = graph.exp %t : !tile
    %n = tile.deslice %u into %o[%i, 0] : !tile into tensor<10x12xf32>
    tile.yield %n : tensor<10x12xf32>
  }
  %f = tile.empty : tensor<10x12xf32>
  %b = tile.while (%i = 0 to 10 step 4) parallel mapping(loop) into(%o = %f : tensor<10x12xf32>) {
    %t = tile.slice %a[%i, 0] fill 0.0 : f32 : tensor<10x12xf32> -> !tile
    %u = graph.relu %t : !tile
    %n = tile.deslice %u into %o[%i, 0] : !tile into tensor<10x12xf32>
    tile.yield %n : tensor<10x12xf32>
  }
  func.return %b : tensor<10x12xf32>
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>
!half = tensor<2xf32, #tile.encoding<L1>>

// A result that others need stays, here behind what does not need it. Where steps
// differ, an index follows the other; part of a tile is a view.
// CHECK-LABEL: func.func @steps
// CHECK-NEXT:    tile.empty
// CHECK-NEXT:    graph.exp %x
// CHECK-NEXT:    tile.empty
// CHECK-NOT:     graph.relu
// CHECK:         %a, %b = tile.while (%i = 0 to 5 step 2) parallel mapping(loop) into(
// CHECK-NEXT:      [[I:%.*]] = affine.apply affine_map<(d0) -> ((d0 * 2))> (%i)
// CHECK-NEXT:      %t = tile.slice %x{{\[}}[[I]]]
// CHECK-NEXT:      %u = graph.exp %t
// CHECK-NEXT:      %n = tile.deslice %u into {{.*}}{{\[}}[[I]]]
// CHECK-NEXT:      affine.apply
// CHECK-NEXT:      %h = tile.slice %u[1]
// CHECK-NEXT:      graph.relu %h
// CHECK:         graph.relu %a
func.func @steps(%x: tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>, tensor<5xf32>) {
  %e = tile.empty : tensor<10xf32>
  %a = tile.while (%i = 0 to 10 step 4) parallel mapping(loop) into(%o = %e : tensor<10xf32>) {
    %t = tile.slice %x[%i] : tensor<10xf32> -> !tile
    %u = graph.exp %t : !tile
    %n = tile.deslice %u into %o[%i] : !tile into tensor<10xf32>
    tile.yield %n : tensor<10xf32>
  }
  %r = graph.relu %a : tensor<10xf32>
  %s = graph.exp %x : tensor<10xf32>
  %f = tile.empty : tensor<5xf32>
  %b = tile.while (%j = 0 to 5 step 2) parallel mapping(loop) into(%o = %f : tensor<5xf32>) {
    %k = affine.apply affine_map<(d0) -> (d0 * 2 + 1)> (%j)
    %h = tile.slice %a[%k] : tensor<10xf32> -> !half
    %v = graph.relu %h : !half
    %n = tile.deslice %v into %o[%j] : !half into tensor<5xf32>
    tile.yield %n : tensor<5xf32>
  }
  func.return %r, %s, %b : tensor<10xf32>, tensor<10xf32>, tensor<5xf32>
}

// -----

!tile = tensor<4xf32, #tile.encoding<L1>>

// In order, an iteration may need what earlier ones wrote: it reads the carried tensor.
// CHECK-LABEL: func.func @earlier
// CHECK:         %b = tile.while (%i = 0 to 12 step 4) sequential mapping(loop) carry(
// CHECK:           %n = tile.deslice %u into
// CHECK-NEXT:      [[J:%.*]] = affine.apply affine_map<(d0) -> ((d0 + -4))> (%i)
// CHECK-NEXT:      tile.slice %n{{\[}}[[J]]] fill 0.0
// CHECK:           tile.yield %n,
func.func @earlier(%x: tensor<12xf32>) -> tensor<12xf32> {
  %e = tile.empty : tensor<12xf32>
  %a = tile.while (%i = 0 to 12 step 4) sequential mapping(loop) carry(%o = %e : tensor<12xf32>) {
    %t = tile.slice %x[%i] : tensor<12xf32> -> !tile
    %u = graph.exp %t : !tile
    %n = tile.deslice %u into %o[%i] : !tile into tensor<12xf32>
    tile.yield %n : tensor<12xf32>
  }
  %f = tile.empty : tensor<12xf32>
  %b = tile.while (%i = 0 to 12 step 4) sequential mapping(loop) carry(%o = %f : tensor<12xf32>) {
    %j = affine.apply affine_map<(d0) -> (d0 - 4)> (%i)
    %t = tile.slice %a[%j] fill 0.0 : f32 : tensor<12xf32> -> !tile
    %n = tile.deslice %t into %o[%i] : !tile into tensor<12xf32>
    tile.yield %n : tensor<12xf32>
  }
  func.return %b : tensor<12xf32>
}
