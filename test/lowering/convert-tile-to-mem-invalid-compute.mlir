// RUN: not tlf-opt %s --split-input-file --target npu-tiny -p convert-tile-to-mem 2>&1 | filecheck %s

// CHECK: error: graph.matmul: expected a result of f32, the type it accumulates in, got bf16: run `graph-decompose`
func.func @half(%x: tensor<8x8xbf16>) {
  %t = tile.slice %x[0, 0] : tensor<8x8xbf16> -> tensor<8x8xbf16, #tile.encoding<L1>>
  %0 = graph.matmul %t, %t : (tensor<8x8xbf16, #tile.encoding<L1>>, tensor<8x8xbf16, #tile.encoding<L1>>) -> tensor<8x8xbf16, #tile.encoding<L1>>
  func.return
}

// -----

// CHECK: error: graph.matmul: expected to accumulate on a contiguous tile
func.func @part(%x: tensor<8x8xf32>) {
  %t = tile.slice %x[0, 0] : tensor<8x8xf32> -> tensor<8x8xf32, #tile.encoding<L1>>
  %u = tile.slice %x[0, 0] : tensor<8x8xf32> -> tensor<4x4xf32, #tile.encoding<L1>>
  %v = tile.slice %t[0, 0] : tensor<8x8xf32, #tile.encoding<L1>> -> tensor<4x4xf32, #tile.encoding<L1>>
  %0 = graph.matmul %u, %u init %v : (tensor<4x4xf32, #tile.encoding<L1>>, tensor<4x4xf32, #tile.encoding<L1>>, tensor<4x4xf32, #tile.encoding<L1>>) -> tensor<4x4xf32, #tile.encoding<L1>>
  func.return
}

// -----

// CHECK: error: tile.slice: expected a slice within a memory level to have no fill value
func.func @filled(%x: tensor<8x8xf32>) {
  %t = tile.slice %x[0, 0] : tensor<8x8xf32> -> tensor<8x8xf32, #tile.encoding<L1>>
  %u = tile.slice %t[1, 0] fill 0.0 : f32 : tensor<8x8xf32, #tile.encoding<L1>> -> tensor<8x8xf32, #tile.encoding<L1>>
  func.return
}

// -----

// CHECK: error: tile.slice: cannot move through a map into a buffer
func.func @gathered(%x: tensor<8x8xf32>) {
  %t = tile.slice %x[0, 0] map affine_map<(d0, d1) -> (d1, d0)> : tensor<8x8xf32> -> tensor<8x8xf32, #tile.encoding<L1>>
  func.return
}

// -----

// A tile far from where engines compute is copied by way of a nearer memory, slice by
// slice along its longest axis.
// CHECK: error: tile.while: a slice of 6400 bytes is too large to copy through L1
func.func @far(%x: tensor<40x40x40xf32>) {
  %t = tile.slice %x[0, 0, 0] : tensor<40x40x40xf32> -> tensor<40x40x40xf32, #tile.encoding<L2>>
  %s = tile.while (%k = 0 to 8 step 4) sequential carry(%a = %t : tensor<40x40x40xf32, #tile.encoding<L2>>) {
    tile.yield %a : tensor<40x40x40xf32, #tile.encoding<L2>>
  }
  %u = tile.slice %t[0, 0, 0] : tensor<40x40x40xf32, #tile.encoding<L2>> -> tensor<40x40x40xf32, #tile.encoding<L1>>
  func.return
}
