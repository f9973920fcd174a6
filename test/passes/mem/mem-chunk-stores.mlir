// RUN: tlf-opt %s --target npu -p mem-chunk-stores | filecheck %s
// RUN: tlf-opt %s --target npu -p mem-chunk-stores,mem-plan,convert-mem-to-npu | filecheck %s --check-prefix NPU

// A loop makes rows one after the other. Two are stored while it makes the next two.

// CHECK-LABEL: @rows
// CHECK:       scf.for %i
// CHECK:       }
// CHECK-NEXT:  arith.constant
// CHECK-NEXT:  [[#EIGHT:]] = arith.constant 8 : index
// CHECK:       scf.for %c
// CHECK-NEXT:    [[FROM:%.*]] = affine.apply affine_map<(d0) -> ((d0 * 32))> (%c)
// CHECK-NEXT:    [[TO:%.*]] = affine.apply affine_map<(d0) -> (((d0 * 32) + 64))> (%c)
// CHECK-NEXT:    [[T:%.*]] = mem.dma %near[[[FROM]], 0] to %y[[[TO]], 0] size [32, 512] :
// CHECK-NEXT:    mem.wait [[T]]
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return

// NPU-LABEL: npu.program @rows
// NPU:         scf.for %i
// NPU:           npu.dma L2{{.*}} from L1
// NPU-NEXT:      npu.signal "dma_l1_l2"
// NPU-NEXT:      npu.signal "dma_l1_l2" [[S:[0-9]+]]
// NPU:         scf.for %c
// NPU:           scf.for
// NPU-NEXT:        npu.wait "dma_l2_l3" [[S]]
// NPU-NEXT:      }
// NPU:           npu.dma L3{{.*}} from L2
func.func @rows(%y: memref<512x512xf16, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %sixteen = arith.constant 16 : index
  %near = mem.alloc : memref<256x512xf16, "L2">
  scf.for %i = %zero to %sixteen step %one {
    %1 = affine.apply affine_map<(d0) -> ((d0 * 16))> (%i)
    %2 = mem.alloc : memref<16x512xf16, "L1">
    mem.fill 1.0 into %2 : memref<16x512xf16, "L1">
    %3 = mem.dma %2[0, 0] to %near[%1, 0] size [16, 512] : memref<16x512xf16, "L1"> to memref<256x512xf16, "L2">
    mem.wait %3
  }
  %0 = mem.dma %near[0, 0] to %y[64, 0] size [256, 512] : memref<256x512xf16, "L2"> to memref<512x512xf16, "L3">
  mem.wait %0
  func.return
}

// 250 rows are three times 63 and some: what the last chunk has beyond them is not stored.

// CHECK-LABEL: @uneven
// CHECK:       scf.for %c
// CHECK:         mem.dma %near[{{.*}}, 0] to %y[{{.*}}, 0] size [63, 512] clipped :
func.func @uneven(%y: memref<512x512xf16, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %ten = arith.constant 10 : index
  %near = mem.alloc : memref<250x512xf16, "L2">
  scf.for %i = %zero to %ten step %one {
    %1 = affine.apply affine_map<(d0) -> ((d0 * 25))> (%i)
    %2 = mem.alloc : memref<25x512xf16, "L1">
    mem.fill 1.0 into %2 : memref<25x512xf16, "L1">
    %3 = mem.dma %2[0, 0] to %near[%1, 0] size [25, 512] : memref<25x512xf16, "L1"> to memref<250x512xf16, "L2">
    mem.wait %3
  }
  %0 = mem.dma %near[0, 0] to %y[64, 0] size [250, 512] : memref<250x512xf16, "L2"> to memref<512x512xf16, "L3">
  mem.wait %0
  func.return
}

// Each of two rounds makes half of the columns. The first half is stored during the second
// round.

// CHECK-LABEL: @columns
// CHECK:       scf.for %c
// CHECK:         mem.dma %near[0, {{.*}}] to %y[0, {{.*}}] size [256, 256]
func.func @columns(%y: memref<256x512xf16, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %eight = arith.constant 8 : index
  %near = mem.alloc : memref<256x512xf16, "L2">
  scf.for %j = %zero to %two step %one {
    %1 = affine.apply affine_map<(d0) -> ((d0 * 256))> (%j)
    scf.for %i = %zero to %eight step %one {
      %2 = affine.apply affine_map<(d0) -> ((d0 * 32))> (%i)
      %3 = mem.alloc : memref<32x256xf16, "L1">
      mem.fill 1.0 into %3 : memref<32x256xf16, "L1">
      %4 = mem.dma %3[0, 0] to %near[%2, %1] size [32, 256] : memref<32x256xf16, "L1"> to memref<256x512xf16, "L2">
      mem.wait %4
    }
  }
  %0 = mem.dma %near[0, 0] to %y[0, 0] size [256, 512] : memref<256x512xf16, "L2"> to memref<256x512xf16, "L3">
  mem.wait %0
  func.return
}

// This stays: each iteration makes some of every row, and columns would share bursts.

// CHECK-LABEL: @whole
// CHECK-NOT:   scf.for %c
// CHECK:       func.return
func.func @whole(%y: memref<256x500xf16, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %ten = arith.constant 10 : index
  %near = mem.alloc : memref<256x500xf16, "L2">
  scf.for %i = %zero to %ten step %one {
    %1 = affine.apply affine_map<(d0) -> ((d0 * 50))> (%i)
    %2 = mem.alloc : memref<256x50xf16, "L1">
    mem.fill 1.0 into %2 : memref<256x50xf16, "L1">
    %3 = mem.dma %2[0, 0] to %near[0, %1] size [256, 50] : memref<256x50xf16, "L1"> to memref<256x500xf16, "L2">
    mem.wait %3
  }
  %0 = mem.dma %near[0, 0] to %y[0, 0] size [256, 500] : memref<256x500xf16, "L2"> to memref<256x500xf16, "L3">
  mem.wait %0
  func.return
}

// The same columns of every other row: rows of y are no whole bursts, and neither does each
// of these stores begin at one.

// CHECK-LABEL: @between
// CHECK-NOT:   scf.for %c
// CHECK:       func.return
func.func @between(%y: memref<64x8x448xf16, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %eight = arith.constant 8 : index
  scf.for %row = %zero to %eight step %one {
    %near = mem.alloc : memref<64x1x448xf16, "L2">
    scf.for %i = %zero to %two step %one {
      %1 = affine.apply affine_map<(d0) -> ((d0 * 256))> (%i)
      %2 = mem.alloc : memref<64x1x256xf16, "L1">
      mem.fill 1.0 into %2 : memref<64x1x256xf16, "L1">
      %3 = mem.dma %2[0, 0, 0] to %near[0, 0, %1] size [64, 1, 256] : memref<64x1x256xf16, "L1"> to memref<64x1x448xf16, "L2">
      mem.wait %3
    }
    %0 = mem.dma %near[0, 0, 0] to %y[0, %row, 0] size [64, 1, 448] : memref<64x1x448xf16, "L2"> to memref<64x8x448xf16, "L3">
    mem.wait %0
  }
  func.return
}

// Every second row begins at a burst.

// CHECK-LABEL: @even
// CHECK:       scf.for %c
// CHECK:         mem.dma %near[0, 0, {{.*}}] to %y[0, {{.*}}, {{.*}}] size [64, 1, 256] clipped :
func.func @even(%y: memref<64x8x448xf16, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %eight = arith.constant 8 : index
  scf.for %n = %zero to %eight step %one {
    %row = affine.apply affine_map<(d0) -> (((d0 floordiv 2) * 2))> (%n)
    %near = mem.alloc : memref<64x1x448xf16, "L2">
    scf.for %i = %zero to %two step %one {
      %1 = affine.apply affine_map<(d0) -> ((d0 * 256))> (%i)
      %2 = mem.alloc : memref<64x1x256xf16, "L1">
      mem.fill 1.0 into %2 : memref<64x1x256xf16, "L1">
      %3 = mem.dma %2[0, 0, 0] to %near[0, 0, %1] size [64, 1, 256] : memref<64x1x256xf16, "L1"> to memref<64x1x448xf16, "L2">
      mem.wait %3
    }
    %0 = mem.dma %near[0, 0, 0] to %y[0, %row, 0] size [64, 1, 448] : memref<64x1x448xf16, "L2"> to memref<64x8x448xf16, "L3">
    mem.wait %0
  }
  func.return
}
