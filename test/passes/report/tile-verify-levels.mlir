// RUN: tlf-opt %s --target npu -p tile-verify-levels | filecheck %s
// RUN: tlf-opt %s -p tile-verify-levels | filecheck %s

// Memories that the target has, one of them without a name.
// CHECK-LABEL: func.func @tiles
func.func @tiles(%x: tensor<4xf32>) -> tensor<4xf32, #tile.encoding<L1>> {
  %a = tile.slice %x[0] : tensor<4xf32> -> tensor<4xf32, #tile.encoding<L2>>
  %b = tile.slice %a[0] : tensor<4xf32, #tile.encoding<L2>> -> tensor<4xf32, #tile.encoding<L1>>
  func.return %b : tensor<4xf32, #tile.encoding<L1>>
}

// CHECK-LABEL: func.func @buffers
func.func @buffers(%x: memref<4xf32, "L3">, %y: memref<4xf32>) {
  %a = mem.alloc : memref<4xf32, "L1">
  func.return
}
