// RUN: tlf-opt %s --split-input-file --target npu -p "mem-plan,convert-mem-to-npu,canonicalize,tlf-cse" | filecheck %s

// Each step waits for the one before it, and the buffer in L2 is written again only
// when it has been read.
// CHECK:      npu.program @double semaphores 5 {
// CHECK-NEXT:   npu.input "x" in "L3" at 0 : tensor<1000xf32>
// CHECK-NEXT:   npu.output "y" in "L3" at 4096 : tensor<1000xf32>
// CHECK-NEXT:   npu.signal "dma_l2_l3" 4
// CHECK:        scf.for [[I:%.*]] =
// CHECK-NEXT:     [[LEFT:%.*]] = arith.subi %{{.*}}, [[I]] : index
// CHECK-NEXT:     [[N:%.*]] = arith.minsi %{{.*}}, [[LEFT]] : index
// CHECK-NEXT:     [[X:%.*]] = arith.muli [[I]], %{{.*}} : index
// CHECK-NEXT:     npu.wait "dma_l3_l2" 4
// CHECK-NEXT:     npu.dma L2[0](4):f32 from L3{{\[}}[[X]]](4):f32 shape [128] inside [0] to {{\[}}[[N]]] fill 0.0
// CHECK-NEXT:     npu.signal "dma_l3_l2" 0
// CHECK-NEXT:     npu.wait "dma_l2_l1" 0
// CHECK-NEXT:     npu.dma L1[0](4):f32 from L2[0](4):f32 shape [128]
// CHECK-NEXT:     npu.signal "dma_l2_l1" 1
// CHECK-NEXT:     npu.wait "vector" 1
// CHECK-NEXT:     npu.vector "add" L1[0](4):f32 from L1[0](4):f32, L1[0](4):f32 shape [128]
// CHECK-NEXT:     npu.signal "vector" 2
// CHECK-NEXT:     npu.wait "dma_l1_l2" 2
// CHECK-NEXT:     npu.dma L2[0](4):f32 from L1[0](4):f32 shape [128]
// CHECK-NEXT:     npu.signal "dma_l1_l2" 3
// CHECK-NEXT:     npu.wait "dma_l2_l3" 3
// CHECK-NEXT:     npu.dma L3{{\[}}[[X]] + 4096](4):f32 from L2[0](4):f32 shape {{\[}}[[N]]]
// CHECK-NEXT:     npu.signal "dma_l2_l3" 4
// CHECK-NEXT:   }
// CHECK-NEXT:   npu.wait "dma_l3_l2" 4
// CHECK-NEXT:   npu.halt
func.func @double(%x: memref<1000xf32, "L3">, %y: memref<1000xf32, "L3">)
    attributes {tlf.results = 1 : i64} {
  %zero = arith.constant 0 : index
  %n = arith.constant 1000 : index
  %step = arith.constant 128 : index
  %far = mem.alloc : memref<128xf32, "L2">
  %near = mem.alloc : memref<128xf32, "L1">
  scf.for %i = %zero to %n step %step {
    %t0 = mem.dma %x[%i] to %far[0] size [128] fill 0.0
        : memref<1000xf32, "L3"> to memref<128xf32, "L2">
    mem.wait %t0
    %t1 = mem.dma %far[0] to %near[0] size [128]
        : memref<128xf32, "L2"> to memref<128xf32, "L1">
    mem.wait %t1
    mem.map ins(%near : memref<128xf32, "L1">) outs(%near : memref<128xf32, "L1">)
        domain [128] maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
    ^bb0(%a: f32):
      %b = arith.addf %a, %a : f32
      mem.yield %b : f32
    }
    %t2 = mem.dma %near[0] to %far[0] size [128]
        : memref<128xf32, "L1"> to memref<128xf32, "L2">
    mem.wait %t2
    %t3 = mem.dma %far[0] to %y[%i] size [128]
        : memref<128xf32, "L2"> to memref<1000xf32, "L3">
    mem.wait %t3
  }
  func.return
}

// -----

// A nest becomes loops; index arithmetic becomes arith; a move that is known to stay
// inside its source has no ranges.
// CHECK:      npu.program @nest
// CHECK:      scf.for [[I:%.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT:   scf.for [[J:%.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT:     [[K:%.*]] = arith.addi [[I]], [[J]] : index
// CHECK-NEXT:     [[ROW:%.*]] = arith.muli [[I]], %{{.*}} : index
// CHECK-NEXT:     [[COL:%.*]] = arith.muli [[K]], %{{.*}} : index
// CHECK-NEXT:     [[BASE:%.*]] = arith.addi [[ROW]], [[COL]] : index
// CHECK:          npu.dma L2[0](16, 4):f32 from L3{{\[}}[[BASE]]](64, 4):f32 shape [4, 4]
// CHECK-NEXT:     npu.signal
func.func @nest(%x: memref<8x16xf32, "L3">) {
  %zero = arith.constant 0 : index
  %eight = arith.constant 8 : index
  %four = arith.constant 4 : index
  %b = mem.alloc : memref<4x4xf32, "L2">
  %a = mem.alloc : memref<4x4xf32, "L1">
  "scf.parallel"(%zero, %zero, %eight, %eight, %four, %four)
      <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %k = affine.apply affine_map<(d0, d1) -> (d0 + d1)> (%i, %j)
    %t = mem.dma %x[%i, %k] to %b[0, 0] size [4, 4]
        : memref<8x16xf32, "L3"> to memref<4x4xf32, "L2">
    mem.wait %t
    %t1 = mem.dma %b[0, 0] to %a[0, 0] size [4, 4]
        : memref<4x4xf32, "L2"> to memref<4x4xf32, "L1">
    mem.wait %t1
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}

// -----

// Taps of a convolution are summed dimensions with the strides of the image.
// CHECK:      npu.program @convolution
// CHECK:      npu.matmul L1[1024](28, 4, 140):f32 from L1[0](108, 12, 4, 108, 12):f32, L1[768](36, 12, 4, 108):f32
// CHECK-SAME: batch [] m [5, 7] n [2] k [3, 3, 3] accumulate
func.func @convolution() {
  %x = mem.alloc : memref<7x9x3xf32, "L1">
  %w = mem.alloc : memref<2x3x3x3xf32, "L1">
  %y = mem.alloc : memref<2x5x7xf32, "L1">
  mem.fill 0.0 into %x : memref<7x9x3xf32, "L1">
  mem.fill 0.0 into %w : memref<2x3x3x3xf32, "L1">
  mem.fill 0.0 into %y : memref<2x5x7xf32, "L1">
  mem.contract ins(%x, %w : memref<7x9x3xf32, "L1">, memref<2x3x3x3xf32, "L1">)
      outs(%y : memref<2x5x7xf32, "L1">) domain [2, 5, 7, 3, 3, 3]
      maps [affine_map<(f, h, w, c, kh, kw) -> (h + kh, w + kw, c)>,
            affine_map<(f, h, w, c, kh, kw) -> (f, c, kh, kw)>,
            affine_map<(f, h, w, c, kh, kw) -> (f, h, w)>]
  func.return
}

// -----

// What overwrites does so in the first of the loops around its instructions, too.
// CHECK:      npu.program @overwrite
// CHECK:      npu.matmul L1[1024]{{.*}} batch [] m [5, 7] n [2] k [3, 3, 3]{{$}}
// CHECK:      scf.for [[I:%.*]] =
// CHECK-NEXT:   scf.for [[O:%.*]] =
// CHECK:          [[IO:%.*]] = arith.addi [[I]], [[O]] : index
// CHECK:          npu.matmul {{.*}} batch [] m [2] n [] k [2, 2, 2] accumulate if [[IO]]
// CHECK:        npu.reduce {{.*}} accumulate if [[I]]
// CHECK:        [[LESS:%.*]] = arith.subi [[I]], %{{.*}} : index
// CHECK:        [[SIZE:%.*]] = arith.maxsi [[LESS]], %{{.*}} : index
// CHECK:        [[SUM:%.*]] = arith.addi [[SIZE]], %{{.*}} : index
// CHECK:        npu.matmul {{.*}} accumulate if [[SUM]]
func.func @overwrite() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %x = mem.alloc : memref<7x9x3xf32, "L1">
  %w = mem.alloc : memref<2x3x3x3xf32, "L1">
  %y = mem.alloc : memref<2x5x7xf32, "L1">
  mem.fill 0.0 into %x : memref<7x9x3xf32, "L1">
  mem.fill 0.0 into %w : memref<2x3x3x3xf32, "L1">
  mem.contract ins(%x, %w : memref<7x9x3xf32, "L1">, memref<2x3x3x3xf32, "L1">)
      outs(%y : memref<2x5x7xf32, "L1">) domain [2, 5, 7, 3, 3, 3]
      maps [affine_map<(f, h, w, c, kh, kw) -> (h + kh, w + kw, c)>,
            affine_map<(f, h, w, c, kh, kw) -> (f, c, kh, kw)>,
            affine_map<(f, h, w, c, kh, kw) -> (f, h, w)>] overwrite
  %a = mem.alloc : memref<2x2x2x2x2xf32, "L1">
  %b = mem.alloc : memref<2x2x2x2xf32, "L1">
  %s = mem.alloc : memref<2xf32, "L1">
  mem.fill 0.0 into %a : memref<2x2x2x2x2xf32, "L1">
  mem.fill 0.0 into %b : memref<2x2x2x2xf32, "L1">
  scf.for %i = %c0 to %c4 step %c1 {
    mem.contract ins(%a, %b : memref<2x2x2x2x2xf32, "L1">, memref<2x2x2x2xf32, "L1">)
        outs(%s : memref<2xf32, "L1">) domain [2, 2, 2, 2, 2]
        maps [affine_map<(m, o, p, q, r) -> (r, m, q, p, o)>,
              affine_map<(m, o, p, q, r) -> (o, p, q, r)>,
              affine_map<(m, o, p, q, r) -> (m)>] overwrite unless %i
    mem.reduce ins(%a : memref<2x2x2x2x2xf32, "L1">) outs(%s : memref<2xf32, "L1">)
        domain [2, 2, 2, 2, 2]
        maps [affine_map<(m, o, p, q, r) -> (r, m, q, p, o)>,
              affine_map<(m, o, p, q, r) -> (m)>] overwrite unless %i {
    ^bb0(%e: f32, %acc: f32):
      %t = arith.addf %e, %acc : f32
      mem.yield %t : f32
    }
    %less = arith.subi %i, %c1 : index
    mem.contract ins(%a, %b : memref<2x2x2x2x2xf32, "L1">, memref<2x2x2x2xf32, "L1">)
        outs(%s : memref<2xf32, "L1">) domain [2, 2, 2, 2, 2]
        maps [affine_map<(m, o, p, q, r) -> (r, m, q, p, o)>,
              affine_map<(m, o, p, q, r) -> (o, p, q, r)>,
              affine_map<(m, o, p, q, r) -> (m)>] overwrite unless %less
  }
  func.return
}

// -----

// Elements outside the bounds are overwritten: rows above and below, no columns.
// CHECK:      npu.program @mask
// CHECK:      scf.for [[I:%.*]] =
// CHECK:        [[ABOVE:%.*]] = arith.maxsi %{{.*}}, %{{.*}} : index
// CHECK:        npu.vector "fill" L1[0](16, 4):f32 from -1.0 shape {{\[}}[[ABOVE]], 4]
// CHECK:        npu.vector "fill" L1[%{{.*}}](16, 4):f32 from -1.0 shape [%{{.*}}, 4]
// CHECK-NOT:    npu.vector
func.func @mask() {
  %from = arith.constant -2 : index
  %to = arith.constant 20 : index
  %step = arith.constant 4 : index
  %x = mem.alloc : memref<8x4xf32, "L1">
  scf.for %i = %from to %to step %step {
    mem.mask %x at [%i, 3] bounds [17, 7] fill -1.0 : memref<8x4xf32, "L1">
  }
  func.return
}

// -----

// Scalar operations, broadcasts, transpositions and casts; neighbours merge.
// CHECK:      npu.program @maps
// CHECK-NEXT:   npu.vector "fill" L1[0](4):f32 from 1.5 shape [32]
// CHECK-NEXT:   npu.vector "cmp.lt" L1[128](1):i1 from L1[0](4):f32, 2.0 shape [32]
// CHECK-NEXT:   npu.vector "select" L1[0](4):f32 from L1[0](4):f32, 0.0, L1[128](1):i1 shape [32]
// CHECK-NEXT:   npu.vector "copy" L1[192](2):f16 from L1[0](4):f32 shape [32]
// CHECK-NEXT:   npu.vector "copy" L1[256](8, 2):f16 from L1[192](2, 16):f16 shape [8, 4]
// CHECK-NEXT:   npu.reduce "sum" L1[320](4, 0):f32 from L1[256](8, 2):f16 shape [8, 4] axes [1] accumulate
// CHECK-NEXT:   npu.halt
func.func @maps() {
  %x = mem.alloc : memref<4x8xf32, "L1">
  %m = mem.alloc : memref<4x8xi1, "L1">
  %h = mem.alloc : memref<4x8xf16, "L1">
  %t = mem.alloc : memref<8x4xf16, "L1">
  %s = mem.alloc : memref<8xf32, "L1">
  mem.fill 1.5 into %x : memref<4x8xf32, "L1">
  mem.map ins(%x : memref<4x8xf32, "L1">) outs(%m : memref<4x8xi1, "L1">) domain [4, 8]
      maps [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>] {
  ^bb0(%0: f32):
    %two = arith.constant 2.0 : f32
    %1 = arith.cmpf olt, %0, %two : f32
    mem.yield %1 : i1
  }
  mem.map ins(%x, %m : memref<4x8xf32, "L1">, memref<4x8xi1, "L1">)
      outs(%x : memref<4x8xf32, "L1">) domain [4, 8]
      maps [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>,
            affine_map<(a, b) -> (a, b)>] {
  ^bb0(%0: f32, %1: i1):
    %zero = arith.constant 0.0 : f32
    %2 = arith.select %1, %0, %zero : f32
    mem.yield %2 : f32
  }
  mem.map ins(%x : memref<4x8xf32, "L1">) outs(%h : memref<4x8xf16, "L1">) domain [4, 8]
      maps [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>] {
  ^bb0(%0: f32):
    %1 = arith.truncf %0 : f32 to f16
    mem.yield %1 : f16
  }
  mem.map ins(%h : memref<4x8xf16, "L1">) outs(%t : memref<8x4xf16, "L1">) domain [8, 4]
      maps [affine_map<(a, b) -> (b, a)>, affine_map<(a, b) -> (a, b)>] {
  ^bb0(%0: f16):
    mem.yield %0 : f16
  }
  mem.reduce ins(%t : memref<8x4xf16, "L1">) outs(%s : memref<8xf32, "L1">) domain [8, 4]
      maps [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>] {
  ^bb0(%0: f16, %1: f32):
    %2 = arith.extf %0 : f16 to f32
    %3 = arith.addf %1, %2 : f32
    mem.yield %3 : f32
  }
  func.return
}

// -----

// Rows of a constant, and a shape changed by a cast.
// CHECK:      npu.program @views
// CHECK-NEXT:   npu.constant "table" in "L3" at 0 dense<{{.*}}> : tensor<6x2xf32>
// CHECK-NEXT:   npu.dma L2[0](4):f32 from L3[16](4):f32 shape [8] fill 0.0
"memref.global"() <{sym_name = "table", sym_visibility = "private",
    type = memref<6x2xf32, "L3">, initial_value = dense<1.0> : tensor<6x2xf32>}> : () -> ()
func.func @views() {
  %table = memref.get_global @table : memref<6x2xf32, "L3">
  %rows = memref.subview %table[2, 0] [4, 2] [1, 1]
      : memref<6x2xf32, "L3"> to memref<4x2xf32, strided<[2, 1], offset: 4>, "L3">
  %b = mem.alloc : memref<8xf32, "L2">
  %cast = memref.reinterpret_cast %b to offset: [0], sizes: [4, 2], strides: [2, 1]
      : memref<8xf32, "L2"> to memref<4x2xf32, "L2">
  %t = mem.dma %rows[0, 0] to %cast[0, 0] size [4, 2] fill 0.0
      : memref<4x2xf32, strided<[2, 1], offset: 4>, "L3"> to memref<4x2xf32, "L2">
  mem.wait %t
  func.return
}
