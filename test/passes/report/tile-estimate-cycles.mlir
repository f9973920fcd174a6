// RUN: tlf-opt %s --target npu-tiny -p tile-estimate-cycles --split-input-file | filecheck %s
// RUN: tlf-opt %s --target h200 -p tile-estimate-cycles --split-input-file | filecheck %s --check-prefix=OTHER
// RUN: not tlf-opt %s -p tile-estimate-cycles --split-input-file 2>&1 | filecheck %s --check-prefix=NONE

// NONE: error: expected a module with a target description, got none: pass `--target`
// OTHER-NOT: tlf.predicted

!far = tensor<1024xf32>
!near = tensor<1024xf32, #tile.encoding<L2>>
!tile = tensor<1024xf32, #tile.encoding<L1>>

// A line is issued, and 4096 bytes take 64 cycles from L3, which arrive 500 later; then 8
// cycles from L2 and 50; 4 cycles on 256 lanes and 4; 8 cycles and 50; 64 and 500.
// CHECK-LABEL: func.func @once
// CHECK-SAME: tlf.predicted = {bytes = 8192 : i64, cycles = 1253 : i64}
func.func @once(%x: !far) -> !far {
  %e = tile.empty : !far
  %a = tile.slice %x[0] : !far -> !near
  %f = tile.empty : !near
  %b = tile.slice %a[0] : !near -> !tile
  %c = graph.relu %b : !tile
  %g = tile.deslice %c into %f[0] : !tile into !near
  %r = tile.deslice %g into %e[0] : !near into !far
  func.return %r : !far
}

// -----

!near = tensor<1024xf32, #tile.encoding<L2>>
!tile = tensor<1024xf32, #tile.encoding<L1>>

// 64 tiles in the same places. The next one is loaded once this one has gone on to L1.
// CHECK-LABEL: func.func @apart
// CHECK-SAME: tlf.predicted = {bytes = 524288 : i64, cycles = 48635 : i64}
func.func @apart(%x: tensor<65536xf32>) -> tensor<65536xf32> {
  %e = tile.empty : tensor<65536xf32>
  %y = tile.while (%i = 0 to 65536 step 1024) parallel mapping(loop)
      into(%o = %e : tensor<65536xf32>) {
    %a = tile.slice %x[%i] : tensor<65536xf32> -> !near
    %f = tile.empty : !near
    %b = tile.slice %a[0] : !near -> !tile
    %c = graph.relu %b : !tile
    %g = tile.deslice %c into %f[0] : !tile into !near
    %r = tile.deslice %g into %o[%i] : !near into tensor<65536xf32>
    tile.yield %r : tensor<65536xf32>
  }
  func.return %y : tensor<65536xf32>
}

// -----

!near = tensor<1024xf32, #tile.encoding<L2>>
!tile = tensor<1024xf32, #tile.encoding<L1>>

// Two of them are under way in half of the time. Of the last tile, 576 elements are there.
// CHECK-LABEL: func.func @overlapping
// CHECK-SAME: tlf.predicted = {bytes = 520704 : i64, cycles = 24646 : i64}
func.func @overlapping(%x: tensor<65088xf32>) -> tensor<65088xf32> {
  %e = tile.empty : tensor<65088xf32>
  %y = tile.while (%i = 0 to 65088 step 1024) parallel mapping(loop) stages(2)
      into(%o = %e : tensor<65088xf32>) {
    %a = tile.slice %x[%i] : tensor<65088xf32> -> !near
    %f = tile.empty : !near
    %b = tile.slice %a[0] : !near -> !tile
    %c = graph.relu %b : !tile
    %g = tile.deslice %c into %f[0] : !tile into !near
    %r = tile.deslice %g into %o[%i] : !near into tensor<65088xf32>
    tile.yield %r : tensor<65088xf32>
  }
  func.return %y : tensor<65088xf32>
}

// -----

// What is no tile yet has no time.
// CHECK-LABEL: func.func @whole
// CHECK-SAME: missed "tile-estimate-cycles" "time unknown: graph.softmax: expected an operation on tiles
func.func @whole(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tile.empty : tensor<4x8xf32>
  %s = graph.softmax %x axis 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = tile.deslice %s into %e[0, 0] : tensor<4x8xf32> into tensor<4x8xf32>
  func.return %r : tensor<4x8xf32>
}

// -----

// Nor has a loop whose end is computed.
// CHECK-LABEL: func.func @bounds
// CHECK-SAME: missed "tile-estimate-cycles" "time unknown: tile.while: expected constant bounds
func.func @bounds(%x: tensor<64xf32>) -> tensor<64xf32> {
  %e = tile.empty : tensor<64xf32>
  %y = tile.while (%i = 0 to 64 step 32) parallel mapping(loop)
      into(%o = %e : tensor<64xf32>) {
    %z = tile.while (%j = 0 to %i step 8) parallel mapping(loop)
        into(%p = %o : tensor<64xf32>) {
      %a = tile.slice %x[%j] : tensor<64xf32> -> tensor<8xf32, #tile.encoding<L2>>
      %r = tile.deslice %a into %p[%j] : tensor<8xf32, #tile.encoding<L2>> into tensor<64xf32>
      tile.yield %r : tensor<64xf32>
    }
    tile.yield %z : tensor<64xf32>
  }
  func.return %y : tensor<64xf32>
}

// -----

// Nor have products of a type that the array does not multiply.
// CHECK-LABEL: func.func @integers
// CHECK-SAME: missed "tile-estimate-cycles" "time unknown: graph.matmul: expected products of bf16, f16, f32, got i64"
func.func @integers(%x: tensor<8x8xi64>) -> tensor<8x8xi64> {
  %e = tile.empty : tensor<8x8xi64>
  %y = tile.while (%i = 0 to 8 step 8) parallel mapping(loop)
      into(%o = %e : tensor<8x8xi64>) {
    %a = tile.slice %x[%i, 0] : tensor<8x8xi64> -> tensor<8x8xi64, #tile.encoding<L2>>
    %b = tile.slice %a[0, 0] : tensor<8x8xi64, #tile.encoding<L2>> -> tensor<8x8xi64, #tile.encoding<L1>>
    %p = graph.matmul %b, %b
        : (tensor<8x8xi64, #tile.encoding<L1>>, tensor<8x8xi64, #tile.encoding<L1>>) -> tensor<8x8xi64, #tile.encoding<L1>>
    %r = tile.deslice %p into %o[%i, 0] : tensor<8x8xi64, #tile.encoding<L1>> into tensor<8x8xi64>
    tile.yield %r : tensor<8x8xi64>
  }
  func.return %y : tensor<8x8xi64>
}
