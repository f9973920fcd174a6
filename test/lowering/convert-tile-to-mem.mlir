// RUN: tlf-opt %s --target npu-tiny -p convert-tile-to-mem | filecheck %s

// Arguments and results live in the outermost memory; a result is the last argument,
// built in place. Moves are waited for before their tile is used, and at the end of the
// body that started them.
// CHECK-LABEL: func.func @moves
// CHECK-SAME:  (%x: memref<100x8xf32, "L3">, %b: memref<8xf32, "L3">, [[Y:%.*]]: memref<100x8xf32, "L3">) attributes {tlf.results = 1 : i64}
// CHECK-NOT:   mem.alloc : memref<100x8xf32
// CHECK:       "scf.parallel"
// CHECK-NEXT:  ^{{.*}}([[I:%.*]]: index):
// CHECK-NEXT:    [[T:%.*]] = mem.alloc : memref<16x8xf32, "L1">
// CHECK-NEXT:    [[TT:%.*]] = mem.dma %x[[[I]], -1] to [[T]][0, 0] size [16, 8] fill 0.0 : memref<100x8xf32, "L3"> to memref<16x8xf32, "L1">
// CHECK-NEXT:    [[B:%.*]] = mem.alloc : memref<8xf32, "L1">
// CHECK-NEXT:    [[BT:%.*]] = mem.dma %b[0] to [[B]][0] size [8] : memref<8xf32, "L3"> to memref<8xf32, "L1">
// CHECK-NEXT:    mem.wait [[TT]]
// CHECK-NEXT:    mem.map ins([[T]] : {{.*}}) outs([[T]] :
// CHECK:           math.exp
// CHECK:         mem.wait [[BT]]
// CHECK-NEXT:    mem.map ins([[T]], [[B]] : {{.*}}) outs([[T]] :
// CHECK:           arith.addf
// CHECK:         [[YT:%.*]] = mem.dma [[T]][0, 0] to [[Y]][[[I]], 0] size [16, 8] : memref<16x8xf32, "L1"> to memref<100x8xf32, "L3">
// CHECK-NEXT:    mem.wait [[YT]]
// CHECK-NEXT:    scf.reduce
// CHECK-NEXT:  }) {mapping = "core"}
// CHECK-NEXT:  func.return
func.func @moves(%x: tensor<100x8xf32>, %b: tensor<8xf32>) -> tensor<100x8xf32> {
  %e = tile.empty : tensor<100x8xf32>
  %y = tile.while (%i = 0 to 100 step 16) parallel mapping(core) into(%o = %e : tensor<100x8xf32>) {
    %t = tile.slice %x[%i, -1] fill 0.0 : f32 : tensor<100x8xf32> -> tensor<16x8xf32, #tile.encoding<L1>>
    %r = tile.slice %b[0] : tensor<8xf32> -> tensor<8xf32, #tile.encoding<L1>>
    %0 = graph.exp %t : tensor<16x8xf32, #tile.encoding<L1>>
    %1 = graph.add %0, %r : (tensor<16x8xf32, #tile.encoding<L1>>, tensor<8xf32, #tile.encoding<L1>>) -> tensor<16x8xf32, #tile.encoding<L1>>
    %d = tile.deslice %1 into %o[%i, 0] : tensor<16x8xf32, #tile.encoding<L1>> into tensor<100x8xf32>
    tile.yield %d : tensor<100x8xf32>
  }
  func.return %y : tensor<100x8xf32>
}

// Only what is valid of a tile is moved.
// CHECK-LABEL: func.func @valid
// CHECK:         mem.dma %x[{{.*}}] to {{.*}} size [5] : memref<100xf32, "L3"> to memref<8xf32, "L1">
// CHECK:         mem.dma {{.*}} size [6] : memref<8xf32, "L1"> to memref<100xf32, "L3">
func.func @valid(%x: tensor<100xf32>) -> tensor<100xf32> {
  %e = tile.empty : tensor<100xf32>
  %y = tile.while (%i = 0 to 100 step 5) parallel into(%o = %e : tensor<100xf32>) {
    %t = tile.slice %x[%i] valid [5] : tensor<100xf32> -> tensor<8xf32, #tile.encoding<L1>>
    %d = tile.deslice %t into %o[%i] valid [6] : tensor<8xf32, #tile.encoding<L1>> into tensor<100xf32>
    tile.yield %d : tensor<100xf32>
  }
  func.return %y : tensor<100xf32>
}

// A slice within a level is a part of the same buffer; a loop carries its total in one
// buffer, which the product adds to.
// CHECK-LABEL: func.func @carried
// CHECK:         [[L:%.*]] = mem.alloc : memref<8x8xf32, "L1">
// CHECK:         [[Z:%.*]] = mem.alloc : memref<4x8xf32, "L1">
// CHECK-NEXT:    mem.fill 0.0 into [[Z]]
// CHECK:         mem.wait
// CHECK:         scf.for [[K:%.*]] = %{{.*}} {
// CHECK-NEXT:      [[V:%.*]] = memref.subview [[L]][[[K]], 0] [4, 8] [1, 1] : memref<8x8xf32, "L1"> to memref<4x8xf32, strided<[8, 1], offset: ?>, "L1">
// CHECK-NEXT:      mem.contract ins([[V]], [[L]] : {{.*}}) outs([[Z]] :
// CHECK-NEXT:    } {stages = 2 : i64}
// CHECK:         mem.dma [[Z]][0, 0] to
func.func @carried(%x: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %e = tile.empty : tensor<4x8xf32>
  %y = tile.while () parallel into(%o = %e : tensor<4x8xf32>) {
    %t = tile.slice %x[0, 0] : tensor<8x8xf32> -> tensor<8x8xf32, #tile.encoding<L1>>
    %z = tile.fill 0.0 : f32 : tensor<4x8xf32, #tile.encoding<L1>>
    %s = tile.while (%k = 0 to 8 step 4) sequential stages(2) carry(%a = %z : tensor<4x8xf32, #tile.encoding<L1>>) {
      %v = tile.slice %t[%k, 0] : tensor<8x8xf32, #tile.encoding<L1>> -> tensor<4x8xf32, #tile.encoding<L1>>
      %p = graph.matmul %v, %t init %a : (tensor<4x8xf32, #tile.encoding<L1>>, tensor<8x8xf32, #tile.encoding<L1>>, tensor<4x8xf32, #tile.encoding<L1>>) -> tensor<4x8xf32, #tile.encoding<L1>>
      tile.yield %p : tensor<4x8xf32, #tile.encoding<L1>>
    }
    %d = tile.deslice %s into %o[0, 0] : tensor<4x8xf32, #tile.encoding<L1>> into tensor<4x8xf32>
    tile.yield %d : tensor<4x8xf32>
  }
  func.return %y : tensor<4x8xf32>
}
