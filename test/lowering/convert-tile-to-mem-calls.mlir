// RUN: tlf-opt %s --target h200 -p convert-tile-to-mem --split-input-file | filecheck %s

// A called function writes into buffers of its caller: its results become arguments, and
// the buffer of a returned tensor is passed on.

// CHECK-LABEL: func.func private @exp(%x: memref<8xf32, "L3">, %y: memref<8xf32, "L3">)
// CHECK:         mem.store {{.*}} to %y[%i]
// CHECK-LABEL: func.func @twice(%x: memref<8xf32, "L3">, %b: memref<8xf32, "L3">)
// CHECK-NEXT:    %a = mem.alloc : memref<8xf32, "L3">
// CHECK-NEXT:    func.call @exp(%x, %a) : (memref<8xf32, "L3">, memref<8xf32, "L3">) -> ()
// CHECK-NEXT:    func.call @exp(%a, %b) : (memref<8xf32, "L3">, memref<8xf32, "L3">) -> ()
// CHECK-NEXT:    func.return
func.func private @exp(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tile.empty : tensor<8xf32>
  %y = tile.while (%i = 0 to 8 step 4) parallel mapping(grid) into(%o = %e : tensor<8xf32>) {
    %t = tile.slice %x[%i] : tensor<8xf32> -> tensor<4xf32, #tile.encoding<L1>>
    %u = graph.exp %t : tensor<4xf32, #tile.encoding<L1>>
    %d = tile.deslice %u into %o[%i] : tensor<4xf32, #tile.encoding<L1>> into tensor<8xf32>
    tile.yield %d : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}
func.func @twice(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = func.call @exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = func.call @exp(%a) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %b : tensor<8xf32>
}

// -----

// A result may overwrite an operand that is not used after the call.

// CHECK-LABEL: func.func private @neg(%x: memref<8xf32, "L3">)
// CHECK:         mem.store {{.*}} to %x[%i]
// CHECK-LABEL: func.func @overwritten(%x: memref<8xf32, "L3">, %b: memref<8xf32, "L3">)
// CHECK:         func.call @neg(%b) : (memref<8xf32, "L3">) -> ()
// CHECK-NEXT:    func.return
func.func private @neg(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = tile.while (%i = 0 to 8 step 4) parallel mapping(grid) into(%o = %x : tensor<8xf32>) {
    %t = tile.slice %x[%i] : tensor<8xf32> -> tensor<4xf32, #tile.encoding<L1>>
    %u = graph.neg %t : tensor<4xf32, #tile.encoding<L1>>
    %d = tile.deslice %u into %o[%i] : tensor<4xf32, #tile.encoding<L1>> into tensor<8xf32>
    tile.yield %d : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}
func.func @overwritten(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tile.empty : tensor<8xf32>
  %a = tile.while (%i = 0 to 8 step 4) parallel mapping(grid) into(%o = %e : tensor<8xf32>) {
    %t = tile.slice %x[%i] : tensor<8xf32> -> tensor<4xf32, #tile.encoding<L1>>
    %d = tile.deslice %t into %o[%i] : tensor<4xf32, #tile.encoding<L1>> into tensor<8xf32>
    tile.yield %d : tensor<8xf32>
  }
  %b = func.call @neg(%a) {tlf.in_place = #graph.in_place<0>} : (tensor<8xf32>) -> tensor<8xf32>
  func.return %b : tensor<8xf32>
}
