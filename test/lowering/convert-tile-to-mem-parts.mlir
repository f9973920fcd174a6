// RUN: tlf-opt %s --target npu-tiny -p convert-tile-to-mem | filecheck %s

// A tile that loops put theirs into is made where it is put.
// CHECK-LABEL: func.func @made
// CHECK-NEXT:    [[A:%.*]] = mem.alloc : memref<12x8xf32, "L2">
// CHECK:         "scf.parallel"
// CHECK:           [[V:%.*]] = memref.subview [[A]][%i, 0] [4, 8] [1, 1]
// CHECK:           mem.dma {{%.*}} to [[V]][{{.*}}] size [2, 8]
// CHECK-NOT:       mem.dma
// CHECK:           scf.reduce
func.func @made(%x: tensor<12x8xf32>) -> tensor<12x8xf32> {
  %whole = tile.empty : tensor<12x8xf32, #tile.encoding<L2>>
  %a = tile.while (%i = 0 to 12 step 4) parallel into(%o = %whole : tensor<12x8xf32, #tile.encoding<L2>>) {
    %e = tile.empty : tensor<4x8xf32, #tile.encoding<L2>>
    %t = tile.while (%j = 0 to 4 step 2) parallel into(%p = %e : tensor<4x8xf32, #tile.encoding<L2>>) {
      %k = affine.apply affine_map<(a, b) -> (a + b)> (%i, %j)
      %n = tile.slice %x[%k, 0] : tensor<12x8xf32> -> tensor<2x8xf32, #tile.encoding<L1>>
      %q = tile.deslice %n into %p[%j, 0] : tensor<2x8xf32, #tile.encoding<L1>> into tensor<4x8xf32, #tile.encoding<L2>>
      tile.yield %q : tensor<4x8xf32, #tile.encoding<L2>>
    }
    %d = tile.deslice %t into %o[%i, 0] : tensor<4x8xf32, #tile.encoding<L2>> into tensor<12x8xf32, #tile.encoding<L2>>
    tile.yield %d : tensor<12x8xf32, #tile.encoding<L2>>
  }
  %y = tile.empty : tensor<12x8xf32>
  %z = tile.deslice %a into %y[0, 0] : tensor<12x8xf32, #tile.encoding<L2>> into tensor<12x8xf32>
  func.return %z : tensor<12x8xf32>
}

// A part that reaches out of a tensor of its level is copied, with what is outside.
// CHECK-LABEL: func.func @reaching
// CHECK-SAME:    an out-of-bounds slice is copied
// CHECK:         [[T:%.*]] = mem.alloc : memref<8xf32, "L2">
// CHECK:         [[P:%.*]] = mem.alloc : memref<6xf32, "L2">
// CHECK:         [[B:%.*]] = mem.alloc : memref<6xf32, "L1">
// CHECK-NEXT:    mem.dma [[T]][-1] to [[B]][0] size [6] fill 0.0
// CHECK:         mem.dma [[B]][0] to [[P]][0] size [6]
func.func @reaching(%x: tensor<8xf32>) -> tensor<6xf32> {
  %t = tile.slice %x[0] : tensor<8xf32> -> tensor<8xf32, #tile.encoding<L2>>
  %u = tile.slice %t[-1] fill 0.0 : f32 : tensor<8xf32, #tile.encoding<L2>> -> tensor<6xf32, #tile.encoding<L2>>
  %y = tile.empty : tensor<6xf32>
  %z = tile.deslice %u into %y[0] : tensor<6xf32, #tile.encoding<L2>> into tensor<6xf32>
  func.return %z : tensor<6xf32>
}
