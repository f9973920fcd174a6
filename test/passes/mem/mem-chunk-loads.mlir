// RUN: tlf-opt %s --target npu -p mem-chunk-loads | filecheck %s
// RUN: tlf-opt %s --target npu -p mem-chunk-loads,mem-plan,convert-mem-to-npu | filecheck %s --check-prefix NPU

// A loop takes columns of `w` one after the other. They are loaded in chunks of two: a row
// of a chunk is a burst.

// CHECK-LABEL: @columns
// CHECK:       %w_1 = mem.alloc : memref<256x512xf16, "L2">
// CHECK-NOT:   mem.wait
// CHECK:       [[#FOUR:]] = arith.constant 4 : index
// CHECK:       scf.for %c = {{.*}} to {{.*}} step
// CHECK-NEXT:    [[AT:%.*]] = affine.apply affine_map<(d0) -> ((d0 * 128))> (%c)
// CHECK-NEXT:    [[T:%.*]] = mem.dma %w[0, [[AT]]] to %w_1[0, [[AT]]] size [256, 128]
// CHECK-NEXT:    mem.wait [[T]]
// CHECK-NEXT:  }
// CHECK-NEXT:  scf.for %i

// Each chunk has a signal, which every second iteration waits for.

// NPU-LABEL: npu.program @columns
// NPU:         scf.for %c
// NPU:           npu.dma L2{{.*}} from L3
// NPU-NEXT:      npu.signal "dma_l3_l2" [[S:[0-9]+]]
// NPU-NEXT:    }
// NPU:         scf.for %i
// NPU:           arith.remsi %i
// NPU:           scf.for
// NPU-NEXT:        npu.wait "dma_l2_l1" [[S]]
// NPU-NEXT:      }
// NPU:           npu.dma L1{{.*}} from L2
func.func @columns(%w: memref<256x512xf16, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  %w_1 = mem.alloc : memref<256x512xf16, "L2">
  %0 = mem.dma %w[0, 0] to %w_1[0, 0] size [256, 512] : memref<256x512xf16, "L3"> to memref<256x512xf16, "L2">
  mem.wait %0
  scf.for %i = %zero to %eight step %one {
    %1 = affine.apply affine_map<(d0) -> ((d0 * 64))> (%i)
    %2 = mem.alloc : memref<256x64xf16, "L1">
    %3 = mem.dma %w_1[0, %1] to %2[0, 0] size [256, 64] : memref<256x512xf16, "L2"> to memref<256x64xf16, "L1">
    mem.wait %3
  }
  func.return
}

// In a loop around, only the first iteration waits. Other loads for it stay before, and
// waits for them; loads for later loops stay behind.

// CHECK-LABEL: @rows
// CHECK:       mem.dma %b[0]
// CHECK-NOT:   mem.dma %later
// CHECK:       scf.for %c
// CHECK:         mem.dma %w[{{.*}}, 0] to %w_1[{{.*}}, 0] size [63, 300]
// CHECK:       mem.dma %later
// CHECK:       mem.wait %{{[0-9]+}}{{$}}
// CHECK:       scf.for %i

// NPU-LABEL: npu.program @rows
// NPU:         scf.for %c
// NPU:         scf.for %i
// NPU:           scf.for %j
// NPU:             arith.subi {{.*}}, %i
// NPU:             arith.maxsi
// NPU:             scf.for
// NPU-NEXT:          npu.wait "dma_l2_l1"
func.func @rows(%w: memref<500x300xf16, "L3">, %b: memref<300xf16, "L3">, %later: memref<300xf16, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %ten = arith.constant 10 : index
  %w_1 = mem.alloc : memref<500x300xf16, "L2">
  %0 = mem.dma %w[0, 0] to %w_1[0, 0] size [500, 300] : memref<500x300xf16, "L3"> to memref<500x300xf16, "L2">
  %b_1 = mem.alloc : memref<300xf16, "L2">
  %1 = mem.dma %b[0] to %b_1[0] size [300] : memref<300xf16, "L3"> to memref<300xf16, "L2">
  %later_1 = mem.alloc : memref<300xf16, "L2">
  %7 = mem.dma %later[0] to %later_1[0] size [300] : memref<300xf16, "L3"> to memref<300xf16, "L2">
  mem.wait %0, %1
  scf.for %i = %zero to %three step %one {
    %5 = mem.alloc : memref<300xf16, "L1">
    %6 = mem.dma %b_1[0] to %5[0] size [300] : memref<300xf16, "L2"> to memref<300xf16, "L1">
    mem.wait %6
    scf.for %j = %zero to %ten step %one {
      %2 = affine.apply affine_map<(d0) -> ((d0 * 50))> (%j)
      %3 = mem.alloc : memref<50x300xf16, "L1">
      %4 = mem.dma %w_1[%2, 0] to %3[0, 0] size [50, 300] : memref<500x300xf16, "L2"> to memref<50x300xf16, "L1">
      mem.wait %4
    }
  }
  mem.wait %7
  func.return
}

// What the loop itself loads ahead from the chunks comes behind them.

// CHECK-LABEL: @early
// CHECK:       scf.for %c
// CHECK:       scf.for %i

// NPU-LABEL: npu.program @early
// NPU:         scf.for %c
// NPU:           npu.signal "dma_l3_l2" [[S:[0-9]+]]
// NPU:         scf.for
// NPU:           npu.wait "dma_l2_l1" [[S]]
// NPU:         scf.for %i
// NPU:           npu.wait "dma_l2_l1" [[S]]
func.func @early(%w: memref<256x512xf16, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  %w_1 = mem.alloc : memref<256x512xf16, "L2">
  %0 = mem.dma %w[0, 0] to %w_1[0, 0] size [256, 512] : memref<256x512xf16, "L3"> to memref<256x512xf16, "L2">
  mem.wait %0
  %slots = mem.alloc : memref<2x256x64xf16, "L1">
  scf.for %i = %zero to %eight step %one {
    %slot = affine.apply affine_map<(d0) -> ((d0 mod 2))> (%i)
    %1 = affine.apply affine_map<(d0) -> ((d0 * 64))> (%i)
    %2 = memref.subview %slots[%slot, 0, 0] [1, 256, 64] [1, 1, 1] : memref<2x256x64xf16, "L1"> to memref<256x64xf16, strided<[64, 1], offset: ?>, "L1">
    %3 = mem.dma %w_1[0, %1] to %2[0, 0] size [256, 64] ahead 1 : memref<256x512xf16, "L2"> to memref<256x64xf16, strided<[64, 1], offset: ?>, "L1">
    mem.wait %3
  } {stages = 2 : i64}
  func.return
}

// A loop reads the lower part of what is loaded, after other loads for it, and a later loop
// all of it. What lies before the source begins is not moved.

// CHECK-LABEL: @window
// CHECK:       mem.dma %b_1[0] to
// CHECK:       scf.for %c
// CHECK:         [[THERE:%.*]] = affine.apply affine_map<(d0) -> (d0)> (%c)
// CHECK-NEXT:    [[HERE:%.*]] = affine.apply affine_map<(d0) -> ((d0 + 8))> (%c)
// CHECK-NEXT:    [[T:%.*]] = mem.dma %x[0, [[THERE]], 0] to %{{.*}}[0, [[HERE]], 0] size [64, 1, 256] :
// CHECK-NEXT:    mem.wait [[T]]
// CHECK-NEXT:  }
// CHECK-NEXT:  scf.for %i

// NPU-LABEL: npu.program @window
// NPU:         scf.for %c
// NPU:           npu.signal "dma_l3_l2" [[S:[0-9]+]]
// NPU:         scf.for %i
// NPU:           npu.wait "dma_l2_l1" [[S]]
func.func @window(%x: memref<64x56x256xf16, "L3">, %b: memref<300xf16, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %nine = arith.constant 9 : index
  %ring = mem.alloc : memref<64x24x256xf16, "L2">
  %first = memref.subview %ring[0, 0, 0] [64, 16, 256] [1, 1, 1] : memref<64x24x256xf16, "L2"> to memref<64x16x256xf16, strided<[6144, 256, 1]>, "L2">
  %0 = mem.dma %x[0, -8, 0] to %first[0, 0, 0] size [64, 16, 256] : memref<64x56x256xf16, "L3"> to memref<64x16x256xf16, strided<[6144, 256, 1]>, "L2">
  mem.wait %0
  %below = memref.subview %ring[0, 8, 0] [64, 8, 256] [1, 1, 1] : memref<64x24x256xf16, "L2"> to memref<64x8x256xf16, strided<[6144, 256, 1], offset: 2048>, "L2">
  %b_1 = mem.alloc : memref<300xf16, "L2">
  %1 = mem.dma %b[0] to %b_1[0] size [300] : memref<300xf16, "L3"> to memref<300xf16, "L2">
  mem.wait %1
  %b_2 = mem.alloc : memref<300xf16, "L1">
  %2 = mem.dma %b_1[0] to %b_2[0] size [300] : memref<300xf16, "L2"> to memref<300xf16, "L1">
  mem.wait %2
  scf.for %i = %zero to %nine step %one {
    mem.fill 0.0 into %b_2 : memref<300xf16, "L1">
    %3 = affine.apply affine_map<(d0) -> ((d0 + -1))> (%i)
    %4 = mem.alloc : memref<64x1x256xf16, "L1">
    %5 = mem.dma %below[0, %3, 0] to %4[0, 0, 0] size [64, 1, 256] fill 0.0 : memref<64x8x256xf16, strided<[6144, 256, 1], offset: 2048>, "L2"> to memref<64x1x256xf16, "L1">
    mem.wait %5
  }
  scf.for %i = %zero to %nine step %one {
    %6 = mem.alloc : memref<64x1x256xf16, "L1">
    %7 = mem.dma %ring[0, %i, 0] to %6[0, 0, 0] size [64, 1, 256] : memref<64x24x256xf16, "L2"> to memref<64x1x256xf16, "L1">
    mem.wait %7
  }
  func.return
}

// What lies outside of the source is filled in chunks, too.

// CHECK-LABEL: @padded
// CHECK:       scf.for %c
// CHECK:         mem.dma %x[0, {{.*}}, 0] to %x_1[0, {{.*}}, 0] size [64, 2, 256] fill 0.0 :
func.func @padded(%x: memref<64x15x256xf16, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %sixteen = arith.constant 16 : index
  %x_1 = mem.alloc : memref<64x16x256xf16, "L2">
  %0 = mem.dma %x[0, -1, 0] to %x_1[0, 0, 0] size [64, 16, 256] fill 0.0 : memref<64x15x256xf16, "L3"> to memref<64x16x256xf16, "L2">
  mem.wait %0
  scf.for %i = %zero to %sixteen step %one {
    %1 = mem.alloc : memref<64x1x256xf16, "L1">
    %2 = mem.dma %x_1[0, %i, 0] to %1[0, 0, 0] size [64, 1, 256] : memref<64x16x256xf16, "L2"> to memref<64x1x256xf16, "L1">
    mem.wait %2
  }
  func.return
}

// A chunk more would fill what the load leaves alone, and what is touched in between has to
// be there.

// CHECK-LABEL: @parts
// CHECK-NOT:   %c =
// CHECK:       func.return
func.func @parts(%x: memref<64x56x256xf16, "L3">, %y: memref<64x16x256xf16, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eleven = arith.constant 11 : index
  %x_1 = mem.alloc : memref<64x13x256xf16, "L2">
  %0 = mem.dma %x[0, 0, 0] to %x_1[0, 0, 0] size [64, 11, 256] : memref<64x56x256xf16, "L3"> to memref<64x13x256xf16, "L2">
  mem.wait %0
  %y_1 = mem.alloc : memref<64x16x256xf16, "L2">
  %1 = mem.dma %y[0, 0, 0] to %y_1[0, 0, 0] size [64, 16, 256] : memref<64x16x256xf16, "L3"> to memref<64x16x256xf16, "L2">
  mem.wait %1
  %2 = mem.alloc : memref<64x1x256xf16, "L1">
  %3 = mem.dma %y_1[0, 7, 0] to %2[0, 0, 0] size [64, 1, 256] : memref<64x16x256xf16, "L2"> to memref<64x1x256xf16, "L1">
  mem.wait %3
  scf.for %i = %zero to %eleven step %one {
    %4 = mem.alloc : memref<64x1x256xf16, "L1">
    %5 = mem.dma %x_1[0, %i, 0] to %4[0, 0, 0] size [64, 1, 256] : memref<64x13x256xf16, "L2"> to memref<64x1x256xf16, "L1">
    mem.wait %5
    %6 = mem.dma %y_1[0, %i, 0] to %4[0, 0, 0] size [64, 1, 256] : memref<64x16x256xf16, "L2"> to memref<64x1x256xf16, "L1">
    mem.wait %6
  }
  func.return
}

// These stay: a load that takes no longer than its latency; one whose columns would share
// bursts; one of which the first iteration needs everything; and one that other work
// stands behind.

// CHECK-LABEL: @whole
// CHECK-NOT:   %c =
// CHECK:       func.return
func.func @whole(
    %a: memref<64x128xf16, "L3">, %b: memref<256x500xf16, "L3">,
    %c: memref<256x512xf16, "L3">, %d: memref<256x512xf16, "L3">
) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %eight = arith.constant 8 : index
  %d_1 = mem.alloc : memref<256x512xf16, "L2">
  %0 = mem.dma %d[0, 0] to %d_1[0, 0] size [256, 512] : memref<256x512xf16, "L3"> to memref<256x512xf16, "L2">
  mem.wait %0
  scf.for %i = %zero to %two step %one {
    %1 = mem.alloc : memref<64xf16, "L1">
    mem.fill 0.0 into %1 : memref<64xf16, "L1">
  }
  %a_1 = mem.alloc : memref<64x128xf16, "L2">
  %b_1 = mem.alloc : memref<256x500xf16, "L2">
  %c_1 = mem.alloc : memref<256x512xf16, "L2">
  %2 = mem.dma %a[0, 0] to %a_1[0, 0] size [64, 128] : memref<64x128xf16, "L3"> to memref<64x128xf16, "L2">
  %3 = mem.dma %b[0, 0] to %b_1[0, 0] size [256, 500] : memref<256x500xf16, "L3"> to memref<256x500xf16, "L2">
  %4 = mem.dma %c[0, 0] to %c_1[0, 0] size [256, 512] : memref<256x512xf16, "L3"> to memref<256x512xf16, "L2">
  mem.wait %2, %3, %4
  scf.for %i = %zero to %eight step %one {
    %5 = affine.apply affine_map<(d0) -> ((d0 * 8))> (%i)
    %6 = affine.apply affine_map<(d0) -> ((d0 * 50))> (%i)
    %7 = affine.apply affine_map<(d0) -> ((448 - (d0 * 64)))> (%i)
    %8 = affine.apply affine_map<(d0) -> ((d0 * 64))> (%i)
    %9 = mem.alloc : memref<8x128xf16, "L1">
    %10 = mem.alloc : memref<256x50xf16, "L1">
    %11 = mem.alloc : memref<256x64xf16, "L1">
    %12 = mem.dma %a_1[%5, 0] to %9[0, 0] size [8, 128] : memref<64x128xf16, "L2"> to memref<8x128xf16, "L1">
    %13 = mem.dma %b_1[0, %6] to %10[0, 0] size [256, 50] : memref<256x500xf16, "L2"> to memref<256x50xf16, "L1">
    %14 = mem.dma %c_1[0, %7] to %11[0, 0] size [256, 64] : memref<256x512xf16, "L2"> to memref<256x64xf16, "L1">
    mem.wait %12, %13, %14
    %15 = mem.dma %d_1[0, %8] to %11[0, 0] size [256, 64] : memref<256x512xf16, "L2"> to memref<256x64xf16, "L1">
    mem.wait %15
  }
  func.return
}
