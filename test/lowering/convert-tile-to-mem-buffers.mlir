// RUN: tlf-opt %s --target npu-tiny -p convert-tile-to-mem | filecheck %s

// Equal constants are one global, in the outermost memory. A constant of one value has
// no place: it is part of what uses it.
// CHECK:       "memref.global"() <{sym_name = "[[G:.*]]", {{.*}}type = memref<8xf32, "L3">, initial_value = dense<[1.0
// CHECK-LABEL: func.func @constants
// CHECK:         memref.get_global @[[G]] : memref<8xf32, "L3">
// CHECK:         mem.map ins([[T:%.*]] : {{.*}}) outs([[T]] :
// CHECK-NEXT:    ^{{.*}}([[V:%.*]]: f32):
// CHECK-NEXT:      [[C:%.*]] = arith.constant 2.0
// CHECK-NEXT:      arith.mulf [[V]], [[C]]
// CHECK:         memref.get_global @[[G]] : memref<8xf32, "L3">
// CHECK-NOT:   memref.global
func.func @constants() -> tensor<8xf32> {
  %e = tile.empty : tensor<8xf32>
  %c = graph.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %y = tile.while () parallel into(%o = %e : tensor<8xf32>) {
    %t = tile.slice %c[0] : tensor<8xf32> -> tensor<8xf32, #tile.encoding<L1>>
    %s = graph.constant dense<2.0> : tensor<f32, #tile.encoding<L1>>
    %0 = graph.mul %t, %s : (tensor<8xf32, #tile.encoding<L1>>, tensor<f32, #tile.encoding<L1>>) -> tensor<8xf32, #tile.encoding<L1>>
    %d = graph.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
    %u = tile.slice %d[0] : tensor<8xf32> -> tensor<8xf32, #tile.encoding<L1>>
    %1 = graph.add %0, %u : (tensor<8xf32, #tile.encoding<L1>>, tensor<8xf32, #tile.encoding<L1>>) -> tensor<8xf32, #tile.encoding<L1>>
    %r = tile.deslice %1 into %o[0] : tensor<8xf32, #tile.encoding<L1>> into tensor<8xf32>
    tile.yield %r : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}

// A reshape is the same buffer under another shape; part of a tile is copied first, as
// its rows do not follow each other.
// CHECK-LABEL: func.func @views
// CHECK-SAME:    (%x: memref<2x8xf32, "L3">, [[Y:%.*]]: memref<16xf32, "L3">, [[Z:%.*]]: memref<8xf32, "L3">)
// CHECK-DAG:     [[W:%.*]] = memref.reinterpret_cast [[Y]] to offset: [0], sizes: [4, 4], strides: [4, 1]
// CHECK-DAG:     [[X:%.*]] = memref.reinterpret_cast %x to offset: [0], sizes: [4, 4], strides: [4, 1] : memref<2x8xf32, "L3"> to memref<4x4xf32, "L3">
// CHECK:         [[T:%.*]] = mem.alloc : memref<4x4xf32, "L1">
// CHECK:         mem.dma [[X]][0, 0] to [[T]][0, 0]
// CHECK:         mem.dma [[T]][0, 0] to [[W]][0, 0]
// CHECK:         [[P:%.*]] = memref.subview [[T]][0, 0] [4, 2] [1, 1]
// CHECK:         [[C:%.*]] = mem.alloc : memref<4x2xf32, "L1">
// CHECK-NEXT:    mem.map ins([[P]] : {{.*}}) outs([[C]] :
// CHECK:         [[Q:%.*]] = memref.reinterpret_cast [[C]] to offset: [0], sizes: [8], strides: [1]
// CHECK:         mem.dma [[Q]][0] to [[Z]][0]
func.func @views(%x: tensor<2x8xf32>) -> (tensor<16xf32>, tensor<8xf32>) {
  %e = tile.empty : tensor<4x4xf32>
  %f = tile.empty : tensor<8xf32>
  %v = graph.reshape %x : (tensor<2x8xf32>) -> tensor<4x4xf32>
  %y, %z = tile.while () parallel into(%o = %e : tensor<4x4xf32>, %p = %f : tensor<8xf32>) {
    %t = tile.slice %v[0, 0] : tensor<4x4xf32> -> tensor<4x4xf32, #tile.encoding<L1>>
    %d = tile.deslice %t into %o[0, 0] : tensor<4x4xf32, #tile.encoding<L1>> into tensor<4x4xf32>
    %u = tile.slice %t[0, 0] : tensor<4x4xf32, #tile.encoding<L1>> -> tensor<4x2xf32, #tile.encoding<L1>>
    %w = graph.reshape %u : (tensor<4x2xf32, #tile.encoding<L1>>) -> tensor<8xf32, #tile.encoding<L1>>
    %c = tile.deslice %w into %p[0] : tensor<8xf32, #tile.encoding<L1>> into tensor<8xf32>
    tile.yield %d, %c : tensor<4x4xf32>, tensor<8xf32>
  }
  %r = graph.reshape %y : (tensor<4x4xf32>) -> tensor<16xf32>
  func.return %r, %z : tensor<16xf32>, tensor<8xf32>
}

// A tile that a loop carries has one place, into which the loop puts what it yields; a
// tile that the loop does not own is copied before.
// CHECK-LABEL: func.func @carry
// CHECK:         [[A:%.*]] = mem.alloc : memref<8xf32, "L1">
// CHECK:         mem.dma %x[0] to [[A]][0]
// CHECK:         [[B:%.*]] = mem.alloc : memref<8xf32, "L1">
// CHECK-NEXT:    mem.map ins([[A]] : {{.*}}) outs([[B]] :
// CHECK:         scf.for
// CHECK-NEXT:      mem.map ins([[B]], [[A]] : {{.*}}) outs([[B]] :
// CHECK:         mem.map ins([[B]], [[A]] : {{.*}}) outs([[B]] :
func.func @carry(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tile.empty : tensor<8xf32>
  %y = tile.while () parallel into(%o = %e : tensor<8xf32>) {
    %t = tile.slice %x[0] : tensor<8xf32> -> tensor<8xf32, #tile.encoding<L1>>
    %s = tile.while (%k = 0 to 8 step 4) sequential carry(%a = %t : tensor<8xf32, #tile.encoding<L1>>) {
      %0 = graph.mul %a, %t : (tensor<8xf32, #tile.encoding<L1>>, tensor<8xf32, #tile.encoding<L1>>) -> tensor<8xf32, #tile.encoding<L1>>
      tile.yield %0 : tensor<8xf32, #tile.encoding<L1>>
    }
    %1 = graph.sub %s, %t : (tensor<8xf32, #tile.encoding<L1>>, tensor<8xf32, #tile.encoding<L1>>) -> tensor<8xf32, #tile.encoding<L1>>
    %d = tile.deslice %1 into %o[0] : tensor<8xf32, #tile.encoding<L1>> into tensor<8xf32>
    tile.yield %d : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}
