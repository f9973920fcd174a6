// RUN: tlf-opt %s --target npu-tiny -p convert-tile-to-mem | filecheck %s

// A chain overwrites its operand as soon as nobody needs it any more.
// CHECK-LABEL: func.func @chain
// CHECK:         [[T:%.*]] = mem.alloc : memref<8xf32, "L1">
// CHECK:         [[U:%.*]] = mem.alloc : memref<8xf32, "L1">
// CHECK-NEXT:    mem.map ins([[T]] : {{.*}}) outs([[U]] :
// CHECK:           math.exp
// CHECK:         mem.map ins([[T]], [[U]] : {{.*}}) outs([[T]] :
// CHECK:           arith.addf
// CHECK-NOT:     mem.alloc
// CHECK:         mem.dma [[T]][0] to
func.func @chain(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tile.empty : tensor<8xf32>
  %y = tile.while () parallel into(%o = %e : tensor<8xf32>) {
    %t = tile.slice %x[0] : tensor<8xf32> -> tensor<8xf32, #tile.encoding<L1>>
    %0 = graph.exp %t : tensor<8xf32, #tile.encoding<L1>>
    %1 = graph.add %t, %0 : (tensor<8xf32, #tile.encoding<L1>>, tensor<8xf32, #tile.encoding<L1>>) -> tensor<8xf32, #tile.encoding<L1>>
    %d = tile.deslice %1 into %o[0] : tensor<8xf32, #tile.encoding<L1>> into tensor<8xf32>
    tile.yield %d : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}

// Not an operand that is broadcast, of another type, or from outside of the loop.
// CHECK-LABEL: func.func @apart
// CHECK:         [[S:%.*]] = mem.alloc : memref<8xf32, "L1">
// CHECK:         scf.for
// CHECK-NEXT:      [[A:%.*]] = mem.alloc : memref<8xf32, "L1">
// CHECK:           mem.map ins([[S]] : {{.*}}) outs([[A]] :
// CHECK:           [[B:%.*]] = mem.alloc : memref<8xbf16, "L1">
// CHECK-NEXT:      mem.map ins([[A]] : {{.*}}) outs([[B]] :
// CHECK:           [[C:%.*]] = mem.alloc : memref<4x8xbf16, "L1">
// CHECK-NEXT:      mem.map ins([[B]] : {{.*}}) outs([[C]] :
func.func @apart(%x: tensor<8xf32>) -> tensor<4x8xbf16> {
  %e = tile.empty : tensor<4x8xbf16>
  %y = tile.while () parallel into(%o = %e : tensor<4x8xbf16>) {
    %t = tile.slice %x[0] : tensor<8xf32> -> tensor<8xf32, #tile.encoding<L1>>
    %z = tile.fill 0.0 : bf16 : tensor<4x8xbf16, #tile.encoding<L1>>
    %s = tile.while (%k = 0 to 3 step 1) sequential carry(%a = %z : tensor<4x8xbf16, #tile.encoding<L1>>) {
      %0 = graph.exp %t : tensor<8xf32, #tile.encoding<L1>>
      %1 = graph.cast %0 : (tensor<8xf32, #tile.encoding<L1>>) -> tensor<8xbf16, #tile.encoding<L1>>
      %2 = graph.broadcast %1 : (tensor<8xbf16, #tile.encoding<L1>>) -> tensor<4x8xbf16, #tile.encoding<L1>>
      %3 = graph.add %a, %2 : (tensor<4x8xbf16, #tile.encoding<L1>>, tensor<4x8xbf16, #tile.encoding<L1>>) -> tensor<4x8xbf16, #tile.encoding<L1>>
      tile.yield %3 : tensor<4x8xbf16, #tile.encoding<L1>>
    }
    %d = tile.deslice %s into %o[0, 0] : tensor<4x8xbf16, #tile.encoding<L1>> into tensor<4x8xbf16>
    tile.yield %d : tensor<4x8xbf16>
  }
  func.return %y : tensor<4x8xbf16>
}

// What a product starts from is copied where it is used again; a mask is a copy, too,
// where the unmasked tile is.
// CHECK-LABEL: func.func @kept
// CHECK:         [[T:%.*]] = mem.alloc : memref<8x8xf32, "L1">
// CHECK:         [[C:%.*]] = mem.alloc : memref<8x8xf32, "L1">
// CHECK-NEXT:    mem.map ins([[T]] : {{.*}}) outs([[C]] :
// CHECK:         mem.contract ins([[T]], [[T]] : {{.*}}) outs([[C]] :
// CHECK:         [[M:%.*]] = mem.alloc : memref<8x8xf32, "L1">
// CHECK-NEXT:    mem.map ins([[C]] : {{.*}}) outs([[M]] :
// CHECK:         mem.mask [[M]] at [0, 2] bounds [8, 8] fill 1.0
// CHECK-NEXT:    mem.map ins([[C]], [[M]] : {{.*}}) outs([[C]] :
// CHECK:         mem.mask [[C]] at [0, 3] bounds [8, 8] valid [8, 7] fill 2.0
func.func @kept(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %e = tile.empty : tensor<8x8xf32>
  %y = tile.while () parallel into(%o = %e : tensor<8x8xf32>) {
    %t = tile.slice %x[0, 0] : tensor<8x8xf32> -> tensor<8x8xf32, #tile.encoding<L1>>
    %0 = graph.matmul %t, %t init %t : (tensor<8x8xf32, #tile.encoding<L1>>, tensor<8x8xf32, #tile.encoding<L1>>, tensor<8x8xf32, #tile.encoding<L1>>) -> tensor<8x8xf32, #tile.encoding<L1>>
    %1 = tile.mask %0[0, 2] bounds [8, 8] fill 1.0 : f32 : tensor<8x8xf32, #tile.encoding<L1>>
    %2 = graph.sub %0, %1 : (tensor<8x8xf32, #tile.encoding<L1>>, tensor<8x8xf32, #tile.encoding<L1>>) -> tensor<8x8xf32, #tile.encoding<L1>>
    %3 = tile.mask %2[0, 3] bounds [8, 8] valid [8, 7] fill 2.0 : f32 : tensor<8x8xf32, #tile.encoding<L1>>
    %d = tile.deslice %3 into %o[0, 0] : tensor<8x8xf32, #tile.encoding<L1>> into tensor<8x8xf32>
    tile.yield %d : tensor<8x8xf32>
  }
  func.return %y : tensor<8x8xf32>
}
