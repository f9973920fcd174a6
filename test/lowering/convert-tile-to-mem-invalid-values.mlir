// RUN: not tlf-opt %s --split-input-file --target h200 -p convert-tile-to-mem 2>&1 | filecheck %s

// CHECK: error: tile.while: cannot insert tiles into a tile of registers
func.func @into(%x: tensor<8xf32>) {
  %e = tile.fill 0.0 : f32 : tensor<8xf32, #tile.encoding<L1>>
  %0 = tile.while () parallel into(%o = %e : tensor<8xf32, #tile.encoding<L1>>) {
    tile.yield %o : tensor<8xf32, #tile.encoding<L1>>
  }
  func.return
}

// -----

// CHECK: error: tile.while: expected carried values in one memory level
func.func @levels(%x: tensor<8xf32>) {
  %e = tile.fill 0.0 : f32 : tensor<8xf32, #tile.encoding<L1>>
  %0, %1 = tile.while (%k = 0 to 8 step 4) sequential carry(%a = %e : tensor<8xf32, #tile.encoding<L1>>, %b = %x : tensor<8xf32>) {
    tile.yield %a, %b : tensor<8xf32, #tile.encoding<L1>>, tensor<8xf32>
  }
  func.return
}

// -----

// CHECK: error: tile.slice: cannot slice a tile of registers
func.func @part(%x: tensor<8xf32>) {
  %t = tile.slice %x[0] : tensor<8xf32> -> tensor<8xf32, #tile.encoding<L1>>
  %u = tile.slice %t[0] : tensor<8xf32, #tile.encoding<L1>> -> tensor<4xf32, #tile.encoding<L1>>
  func.return
}

// -----

// CHECK: error: tile.roll: cannot roll a tile of registers
func.func @roll(%x: tensor<8xf32>) {
  %t = tile.slice %x[0] : tensor<8xf32> -> tensor<8xf32, #tile.encoding<L1>>
  %u = tile.roll %t, %t axis 0 : tensor<8xf32, #tile.encoding<L1>>, tensor<8xf32, #tile.encoding<L1>>
  func.return
}

// -----

// CHECK: error: graph.conv2d: cannot split an axis of a tile of registers
func.func @groups(%x: tensor<1x4x8x8xf32>, %w: tensor<8x2x1x1xf32>) {
  %t = tile.slice %x[0, 0, 0, 0] : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32, #tile.encoding<L1>>
  %u = tile.slice %w[0, 0, 0, 0] : tensor<8x2x1x1xf32> -> tensor<8x2x1x1xf32, #tile.encoding<L1>>
  %0 = graph.conv2d %t, %u groups 2 : (tensor<1x4x8x8xf32, #tile.encoding<L1>>, tensor<8x2x1x1xf32, #tile.encoding<L1>>) -> tensor<1x8x8x8xf32, #tile.encoding<L1>>
  func.return
}

// -----

// CHECK: error: {{.*}}cannot copy a tile within L3
func.func @far(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tile.empty : tensor<8xf32>
  %y = tile.while () parallel into(%o = %e : tensor<8xf32>) {
    %t = tile.slice %x[0] : tensor<8xf32> -> tensor<8xf32>
    %d = tile.deslice %t into %o[0] : tensor<8xf32> into tensor<8xf32>
    tile.yield %d : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}
