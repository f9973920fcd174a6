// RUN: tlf-opt %s --target npu -p convert-tile-to-mem | filecheck %s
// RUN: tlf-opt %s --target npu -p "convert-tile-to-mem,mem-plan,convert-mem-to-npu,tidy" -t npu | filecheck %s --check-prefix=NPU

// Tiles go where indices say, one after the other, in the place of what is written to.
// CHECK-LABEL: func.func @f
// CHECK:       scf.for [[I:%.*]] =
// CHECK:         [[N:%.*]] = mem.alloc : memref<4xi64, "L2">
// CHECK:         [[U:%.*]] = mem.alloc : memref<4x8xf32, "L2">
// CHECK:         mem.wait
// CHECK-NEXT:    [[T:%.*]] = mem.dma_scatter [[U]] to %{{.*}}[0, 0] axis 0 at [[N]] maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [4, 8] accumulate : memref<4x8xf32, "L2">, memref<4xi64, "L2"> to memref<9x8xf32, "L3">
// CHECK-NEXT:    mem.wait [[T]]
// CHECK:       }
// CHECK-NOT:   mem.dma

// NPU:      dma dma_l2_l3 dst=L3[{{.*}}](0, 4) src=L2[{{.*}}](32, 4) shape=(4, 8) type=f32 index=L2[{{.*}}](8, 0):i64 scatter=(32, 9) accumulate
func.func @f(%n: tensor<8xi64>, %u: tensor<8x8xf32>) -> tensor<9x8xf32> {
  %e = tile.empty : tensor<9x8xf32>
  %w = tile.slice %u[0, 0] : tensor<8x8xf32> -> tensor<8x8xf32, #tile.encoding<L2>>
  %x = tile.deslice %w into %e[0, 0] : tensor<8x8xf32, #tile.encoding<L2>> into tensor<9x8xf32>
  %d = tile.slice %u[0, 0] : tensor<8x8xf32> -> tensor<1x8xf32, #tile.encoding<L2>>
  %x1 = tile.deslice %d into %x[8, 0] : tensor<1x8xf32, #tile.encoding<L2>> into tensor<9x8xf32>
  %y = tile.while (%i = 0 to 8 step 4) sequential mapping(loop) carry(%o = %x1 : tensor<9x8xf32>) {
    %m = tile.slice %n[%i] : tensor<8xi64> -> tensor<4xi64, #tile.encoding<L2>>
    %v = tile.slice %u[%i, 0] : tensor<8x8xf32> -> tensor<4x8xf32, #tile.encoding<L2>>
    %s = tile.scatter %v into %o[0, 0] axis 0 at %m maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] accumulate
        : tensor<4x8xf32, #tile.encoding<L2>>, tensor<4xi64, #tile.encoding<L2>> into tensor<9x8xf32>
    tile.yield %s : tensor<9x8xf32>
  }
  func.return %y : tensor<9x8xf32>
}
