// RUN: tlf-opt %s -p tile-fuse-loops,tidy --split-input-file | filecheck %s

!tile = tensor<4xf32, #tile.encoding<L1>>
!scalar = tensor<f32, #tile.encoding<L1>>

// Reads are no dependence: sums over one tensor run together, and cut a tile once.
// CHECK-LABEL: func.func @sums
// CHECK:         %a, %b = tile.while (%k = 0 to 12 step 4) sequential mapping(loop) carry([[S:%.*]] = [[Z:%.*]] : {{.*}}, [[P:%.*]] = [[Z]] : {{.*}}) {
// CHECK-NEXT:      %t = tile.slice %x[%k]
// CHECK-NEXT:      [[M:%.*]] = graph.reduce %t <sum> init [[S]]
// CHECK-NEXT:      [[N:%.*]] = graph.reduce %t <prod> init [[P]]
// CHECK-NEXT:      tile.yield [[M]], [[N]]
func.func @sums(%x: tensor<12xf32>) -> (!scalar, !scalar) {
  %z = tile.fill 0.0 : f32 : !scalar
  %a = tile.while (%k = 0 to 12 step 4) sequential mapping(loop) carry(%s = %z : !scalar) {
    %t = tile.slice %x[%k] : tensor<12xf32> -> !tile
    %m = graph.reduce %t <sum> init %s axes [0] : (!tile, !scalar) -> !scalar
    tile.yield %m : !scalar
  }
  %b = tile.while (%k = 0 to 12 step 4) sequential mapping(loop) carry(%s = %z : !scalar) {
    %t = tile.slice %x[%k] : tensor<12xf32> -> !tile
    %m = graph.reduce %t <prod> init %s axes [0] : (!tile, !scalar) -> !scalar
    tile.yield %m : !scalar
  }
  func.return %a, %b : !scalar, !scalar
}

// -----

!near = tensor<8x6xf32, #tile.encoding<L2>>
!tile = tensor<4x6xf32, #tile.encoding<L1>>

// Nests inside are fused after those around them, which run once here. What stays between
// levels stays there.
// CHECK-LABEL: func.func @levels
// CHECK-COUNT-2: tile.while
// CHECK-NEXT:        %x_2 = tile.slice %x_1[%j, 0]
// CHECK-NEXT:        %u = graph.exp %x_2
// CHECK-NEXT:        %v = graph.relu %u
// CHECK-NEXT:        tile.deslice %v into {{.*}}[%j, 0]
// CHECK-NOT:     tile.while
func.func @levels(%x: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %e = tile.empty : tensor<8x6xf32>
  %a = tile.while () parallel mapping(loop) into(%o = %e : tensor<8x6xf32>) {
    %x_1 = tile.slice %x[0, 0] : tensor<8x6xf32> -> !near
    %f = tile.empty : !near
    %c = tile.while (%j = 0 to 8 step 4) parallel mapping(loop) into(%p = %f : !near) {
      %x_2 = tile.slice %x_1[%j, 0] : !near -> !tile
      %u = graph.exp %x_2 : !tile
      %m = tile.deslice %u into %p[%j, 0] : !tile into !near
      tile.yield %m : !near
    }
    %n = tile.deslice %c into %o[0, 0] : !near into tensor<8x6xf32>
    tile.yield %n : tensor<8x6xf32>
  }
  %g = tile.empty : tensor<8x6xf32>
  %b = tile.while () parallel mapping(loop) into(%o = %g : tensor<8x6xf32>) {
    %y = tile.slice %a[0, 0] : tensor<8x6xf32> -> !near
    %f = tile.empty : !near
    %c = tile.while (%j = 0 to 8 step 4) parallel mapping(loop) into(%p = %f : !near) {
      %y_1 = tile.slice %y[%j, 0] : !near -> !tile
      %v = graph.relu %y_1 : !tile
      %m = tile.deslice %v into %p[%j, 0] : !tile into !near
      tile.yield %m : !near
    }
    %n = tile.deslice %c into %o[0, 0] : !near into tensor<8x6xf32>
    tile.yield %n : tensor<8x6xf32>
  }
  func.return %b : tensor<8x6xf32>
}

// -----

!tile = tensor<8xf32, #tile.encoding<L1>>
!whole = tensor<8xf32>

// A tile that was cut in front of its nest is cut inside.
// CHECK-LABEL: func.func @cut
// CHECK-NEXT:    %f = tile.empty
// CHECK-NEXT:    %b = tile.while () parallel
// CHECK-NEXT:      %t = tile.slice %x[0]
// CHECK-NEXT:      %u = graph.exp %t
// CHECK-NEXT:      %v = graph.relu %u
// CHECK-NEXT:      tile.deslice %v
func.func @cut(%x: !whole) -> !whole {
  %e = tile.empty : !whole
  %a = tile.while () parallel mapping(loop) into(%o = %e : !whole) {
    %t = tile.slice %x[0] : !whole -> !tile
    %u = graph.exp %t : !tile
    %n = tile.deslice %u into %o[0] : !tile into !whole
    tile.yield %n : !whole
  }
  %f = tile.empty : !whole
  %c = tile.slice %a[0] : !whole -> !tile
  %b = tile.while () parallel mapping(loop) into(%o = %f : !whole) {
    %v = graph.relu %c : !tile
    %n = tile.deslice %v into %o[0] : !tile into !whole
    tile.yield %n : !whole
  }
  func.return %b : !whole
}
