// RUN: tlf-opt %s --split-input-file -p convert-mem-to-triton -t "triton{parts=source}" | filecheck %s

// Digits of the column are scalars, since tiles start at multiples of their size, which
// divides the number of channels; those of the row are vectors.
// CHECK:      def rows_0(p0, p1):
// CHECK:        i1 = (pid0 % 18) * 32
// CHECK-NEXT:   r0 = tl.arange(0, 16)
// CHECK-NEXT:   r1 = tl.arange(0, 32)
// CHECK-NEXT:   r2 = i0 + r0
// CHECK-NEXT:   r3 = r2 // 196
// CHECK-NEXT:   r4 = (r2 // 14) % 14
// CHECK-NEXT:   r5 = r2 % 14
// CHECK-NEXT:   i2 = i1 // 192
// CHECK-NEXT:   i3 = (i1 // 64) % 3
// CHECK-NEXT:   i4 = ((i1 // 32) % 2) * 32
// CHECK-NEXT:   r6 = r3 * 12544 + r4 * 896 + r5 * 64
// CHECK-NEXT:   i5 = i2 - 1
// CHECK-NEXT:   r7 = i5 + r4
// CHECK-NEXT:   i6 = i3 - 1
// CHECK-NEXT:   r8 = i6 + r5
// CHECK-NEXT:   v0 = tl.load(p0 + (i2 * 896 + i3 * 64 + i4 - 960) + r6[:, None] + r1[None, :], mask=(r7 >= 0)[:, None] & (r7 < 14)[:, None] & (r8 >= 0)[:, None] & (r8 < 14)[:, None], other=0.0)
func.func @rows(%x: memref<4x14x14x64xbf16, "L3">, %y: memref<784x576xbf16, "L3">) attributes {tlf.results = 1 : i64} {
  %zero = arith.constant 0 : index
  %rows = arith.constant 784 : index
  %columns = arith.constant 576 : index
  %step = arith.constant 16 : index
  %width = arith.constant 32 : index
  "scf.parallel"(%zero, %zero, %rows, %columns, %step, %width) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %v = mem.im2col %x[%i, %j] map affine_map<(n, h, w, r, s, c) -> (n, h + r - 1, w + s - 1, c)> basis [[4, 14, 14], [3, 3, 64]]
        size [16, 32] fill 0.0 : memref<4x14x14x64xbf16, "L3"> -> tensor<16x32xbf16>
    mem.store %v to %y[%i, %j] : tensor<16x32xbf16> to memref<784x576xbf16, "L3">
    scf.reduce
  }) {mapping = "grid"} : (index, index, index, index, index, index) -> ()
  func.return
}

// -----

// Along one dim nothing is broadcast; without a fill other elements are unspecified. A
// digit of period 4 needs no offset.
// CHECK:      def line_0(p0, p1):
// CHECK:        i0 = pid0 * 8
// CHECK-NEXT:   r0 = tl.arange(0, 8)
// CHECK-NEXT:   r1 = i0 + r0
// CHECK-NEXT:   r2 = r1 // 4
// CHECK-NEXT:   r3 = r0 % 4
// CHECK-NEXT:   r4 = r2 * 2 + r3 - 1
// CHECK-NEXT:   v0 = tl.load(p0 + r4, mask=(r0 < 6) & (r4 >= 0) & (r4 < 30))
func.func @line(%x: memref<30xf32, "L3">, %y: memref<64xf32, "L3">) attributes {tlf.results = 1 : i64} {
  %zero = arith.constant 0 : index
  %end = arith.constant 64 : index
  %step = arith.constant 8 : index
  "scf.parallel"(%zero, %end, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = mem.im2col %x[%i] map affine_map<(o, k) -> (2 * o + k - 1)> basis [[16, 4]] size [6]
        : memref<30xf32, "L3"> -> tensor<8xf32>
    mem.store %v to %y[%i] : tensor<8xf32> to memref<64xf32, "L3">
    scf.reduce
  }) {mapping = "grid"} : (index, index, index) -> ()
  func.return
}

// -----

// One column of a number of rows: pointers have the shape of the tile.
// CHECK:      def column_0(p0, p1):
// CHECK:        v0 = tl.load(tl.broadcast_to(p0 + 3, [4, 1]))
func.func @column(%x: memref<30xf32, "L3">, %y: memref<4x1xf32, "L3">) attributes {tlf.results = 1 : i64} {
  %v = mem.im2col %x[0, 0] map affine_map<(o, k) -> (k + 3)> basis [[4], [1]] size [4, 1] : memref<30xf32, "L3"> -> tensor<4x1xf32>
  mem.store %v to %y[0, 0] : tensor<4x1xf32> to memref<4x1xf32, "L3">
  func.return
}
