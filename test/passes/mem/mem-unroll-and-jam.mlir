// RUN: tlf-opt %s --split-input-file -p mem-unroll-and-jam,tidy | filecheck %s

// Rows of even and of odd numbers: four reads for six elements of windows, then all stores.
// CHECK-LABEL: func.func @rows
// CHECK-DAG:     %[[EVEN:.*]] = memref.reinterpret_cast %y to offset: [0], sizes: [64, 32], strides: [64, 1]
// CHECK-DAG:     %[[ODD:.*]] = memref.reinterpret_cast %y to offset: [32], sizes: [64, 32], strides: [64, 1]
// CHECK-DAG:     %[[HALF:.*]] = arith.constant 64 : index
// CHECK:         "scf.parallel"(%zero, %[[HALF]], %step)
// CHECK:           mem.im2col %x[%i, 0, 0] map affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, ((d2 * 2) + -1), d4)> basis [[2, 4, 8], [1], [32]]
// CHECK:           mem.im2col {{.*}} (d2 * 2), d4)>
// CHECK:           mem.im2col {{.*}} ((d2 * 2) + 1), d4)>
// CHECK:           mem.im2col {{.*}} ((d2 * 2) + 2), d4)>
// CHECK-NOT:       mem.im2col
// CHECK:           mem.store %{{.*}} to %[[EVEN]][%i, 0]
// CHECK-NEXT:      mem.store %{{.*}} to %[[ODD]][%i, 0]
// CHECK-NEXT:      scf.reduce
// CHECK-NEXT:    }) {mapping = "grid"}
func.func @rows(%x: memref<2x4x17x32xf16, "L3">, %w: memref<3x32xf16, "L3">,
                %y: memref<128x32xf32, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %step = arith.constant 16 : index
  %end = arith.constant 128 : index
  "scf.parallel"(%zero, %end, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %init = mem.fill 0.0 -> tensor<16x32xf32>
    %sum = scf.for %k = %zero to %three step %one iter_args(%acc = %init) -> (tensor<16x32xf32>) {
      %a = mem.im2col %x[%i, %k, 0] map affine_map<(n, h, w, q, c) -> (n, h, w + q + -1, c)>
          basis [[2, 4, 16], [3], [32]] size [16, 1, 32] fill 0.0
          : memref<2x4x17x32xf16, "L3"> -> tensor<16x1x32xf16>
      %b = mem.load %w[%k, 0] map affine_map<(c) -> (0, c)> size [32]
          : memref<3x32xf16, "L3"> -> tensor<32xf16>
      %c = mem.map ins(%a, %b : tensor<16x1x32xf16>, tensor<32xf16>) domain [16, 32]
          maps [affine_map<(r, c) -> (r, 0, c)>, affine_map<(r, c) -> (c)>, affine_map<(r, c) -> (r, c)>] {
      ^bb1(%d: f16, %e: f16):
        %f = arith.mulf %d, %e : f16
        %g = arith.extf %f : f16 to f32
        mem.yield %g : f32
      } -> tensor<16x32xf32>
      %t = mem.map ins(%acc, %c : tensor<16x32xf32>, tensor<16x32xf32>) domain [16, 32]
          maps [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>] {
      ^bb1(%d: f32, %e: f32):
        %f = arith.addf %d, %e : f32
        mem.yield %f : f32
      } -> tensor<16x32xf32>
      scf.yield %t : tensor<16x32xf32>
    }
    mem.store %sum to %y[%i, 0] : tensor<16x32xf32> to memref<128x32xf32, "L3">
    scf.reduce
  }) {mapping = "grid", unroll = array<i64: 2>} : (index, index, index) -> ()
  func.return
}

// -----

// Rows of 15 windows have no pairs: neighbours would be in different rows.
// CHECK-LABEL: func.func @odd
// CHECK:         "scf.parallel"(%zero, %end, %step)
// CHECK:           mem.im2col
// CHECK-NEXT:      mem.store
// CHECK-NEXT:      scf.reduce
// CHECK-NEXT:    }) {mapping = "grid"}
func.func @odd(%x: memref<2x4x15x32xf16, "L3">, %y: memref<120x32xf16, "L3">) {
  %zero = arith.constant 0 : index
  %step = arith.constant 16 : index
  %end = arith.constant 120 : index
  "scf.parallel"(%zero, %end, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %a = mem.im2col %x[%i, 0] map affine_map<(n, h, w, c) -> (n, h, w + -1, c)>
        basis [[2, 4, 15], [32]] size [16, 32] fill 0.0
        : memref<2x4x15x32xf16, "L3"> -> tensor<16x32xf16>
    mem.store %a to %y[%i, 0] : tensor<16x32xf16> to memref<120x32xf16, "L3">
    scf.reduce
  }) {mapping = "grid", unroll = array<i64: 2>} : (index, index, index) -> ()
  func.return
}

// -----

// Kept: what is loaded after it was stored would be loaded before.
// CHECK-LABEL: func.func @loads_what_it_stored
// CHECK:         "scf.parallel"(%zero, %end, %step)
// CHECK:           mem.store {{.*}} to %y[%i, 0]
// CHECK:           mem.load %y[%i, 0]
func.func @loads_what_it_stored(%x: memref<64x32xf16, "L3">, %y: memref<64x32xf16, "L3">, %z: memref<64x32xf16, "L3">) {
  %zero = arith.constant 0 : index
  %step = arith.constant 16 : index
  %end = arith.constant 64 : index
  "scf.parallel"(%zero, %end, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %a = mem.load %x[%i, 0] size [16, 32] : memref<64x32xf16, "L3"> -> tensor<16x32xf16>
    mem.store %a to %y[%i, 0] : tensor<16x32xf16> to memref<64x32xf16, "L3">
    %b = mem.load %y[%i, 0] size [16, 32] : memref<64x32xf16, "L3"> -> tensor<16x32xf16>
    mem.store %b to %z[%i, 0] : tensor<16x32xf16> to memref<64x32xf16, "L3">
    scf.reduce
  }) {mapping = "grid", unroll = array<i64: 2>} : (index, index, index) -> ()
  func.return
}

// -----

// Kept: views of the buffer's rows are before the loop, where the buffer is not defined.
// CHECK-LABEL: func.func @view_of_an_iteration
// CHECK:         "scf.parallel"(%zero, %end, %step)
func.func @view_of_an_iteration(%x: memref<64x32xf16, "L3">, %y: memref<64x32xf16, "L3">) {
  %zero = arith.constant 0 : index
  %step = arith.constant 16 : index
  %end = arith.constant 64 : index
  "scf.parallel"(%zero, %end, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.reinterpret_cast %x to offset: [0], sizes: [64, 32], strides: [32, 1]
        : memref<64x32xf16, "L3"> to memref<64x32xf16, strided<[32, 1]>, "L3">
    %a = mem.load %v[%i, 0] size [16, 32] : memref<64x32xf16, strided<[32, 1]>, "L3"> -> tensor<16x32xf16>
    mem.store %a to %y[%i, 0] : tensor<16x32xf16> to memref<64x32xf16, "L3">
    scf.reduce
  }) {mapping = "grid", unroll = array<i64: 2>} : (index, index, index) -> ()
  func.return
}
