// RUN: tlf-opt %s -p mem-widen-accumulators | filecheck %s

// Tiles of 16 rows are added elementwise, and their rows after the loop.
// CHECK-LABEL: func.func @columns
// CHECK:         [[START:%.*]] = mem.fill 0.0 -> tensor<32xf32
// CHECK:         [[WIDE:%.*]] = mem.fill 0.0 -> tensor<16x32xf32
// CHECK:         [[SUM:%.*]] = scf.for {{.*}} iter_args([[ACC:%.*]] = [[WIDE]]) -> (tensor<16x32xf32
// CHECK-NEXT:      [[TILE:%.*]] = mem.load
// CHECK-NEXT:      [[NEXT:%.*]] = mem.map ins([[TILE]], [[ACC]] : {{.*}}) domain [16, 32]
// CHECK-NEXT:      ^bb
// CHECK-NEXT:        [[X:%.*]] = arith.extf
// CHECK-NEXT:        arith.addf [[X]]
// CHECK:           scf.yield [[NEXT]]
// CHECK:         mem.reduce ins([[SUM]] : tensor<16x32xf32, {{.*}}) outs([[START]] : {{.*}}) domain [16, 32]
// CHECK-NEXT:      ^bb
// CHECK-NEXT:        arith.addf
func.func @columns(%x: memref<64x32xbf16, "L3">, %y: memref<32xf32, "L3">) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 64 : index
  %2 = arith.constant 16 : index
  %start = mem.fill 0.0 -> tensor<32xf32, #tile.encoding<L1>>
  %sum = scf.for %k = %0 to %1 step %2 iter_args(%acc = %start) -> (tensor<32xf32, #tile.encoding<L1>>) {
    %tile = mem.load %x[%k, 0] size [16, 32] : memref<64x32xbf16, "L3"> -> tensor<16x32xbf16, #tile.encoding<L1>>
    %next = mem.reduce ins(%tile : tensor<16x32xbf16, #tile.encoding<L1>>) outs(%acc : tensor<32xf32, #tile.encoding<L1>>)
        domain [16, 32] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>] {
    ^bb0(%a: bf16, %b: f32):
      %w = arith.extf %a : bf16 to f32
      %s = arith.addf %w, %b : f32
      mem.yield %s : f32
    } -> tensor<32xf32, #tile.encoding<L1>>
    scf.yield %next : tensor<32xf32, #tile.encoding<L1>>
  }
  mem.store %sum to %y[0] : tensor<32xf32, #tile.encoding<L1>> to memref<32xf32, "L3">
  func.return
}

// The loop reads the running maximum: its tiles are reduced at once.
// CHECK-LABEL: func.func @running
// CHECK:         scf.for
// CHECK:           mem.reduce
// CHECK-NOT:     mem.reduce
func.func @running(%x: memref<64xf32, "L3">, %y: memref<64xf32, "L3">) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 64 : index
  %2 = arith.constant 16 : index
  %start = mem.fill -inf -> tensor<1xf32, #tile.encoding<L1>>
  %max = scf.for %k = %0 to %1 step %2 iter_args(%acc = %start) -> (tensor<1xf32, #tile.encoding<L1>>) {
    %tile = mem.load %x[%k] size [16] : memref<64xf32, "L3"> -> tensor<16xf32, #tile.encoding<L1>>
    %next = mem.reduce ins(%tile : tensor<16xf32, #tile.encoding<L1>>) outs(%acc : tensor<1xf32, #tile.encoding<L1>>)
        domain [16] maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (0)>] {
    ^bb0(%a: f32, %b: f32):
      %s = arith.maximumf %a, %b : f32
      mem.yield %s : f32
    } -> tensor<1xf32, #tile.encoding<L1>>
    %scaled = mem.map ins(%tile, %next : tensor<16xf32, #tile.encoding<L1>>, tensor<1xf32, #tile.encoding<L1>>)
        domain [16] maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>] {
    ^bb0(%a: f32, %b: f32):
      %s = arith.divf %a, %b : f32
      mem.yield %s : f32
    } -> tensor<16xf32, #tile.encoding<L1>>
    mem.store %scaled to %y[%k] : tensor<16xf32, #tile.encoding<L1>> to memref<64xf32, "L3">
    scf.yield %next : tensor<1xf32, #tile.encoding<L1>>
  }
  func.return
}

// Partial results of 16,384 elements would take 128 registers of each thread.
// CHECK-LABEL: func.func @large
// CHECK:         scf.for
// CHECK:           mem.reduce
// CHECK-NOT:     mem.reduce
func.func @large(%x: memref<65536xf32, "L3">, %y: memref<1xf32, "L3">) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 65536 : index
  %2 = arith.constant 16384 : index
  %start = mem.fill 0.0 -> tensor<1xf32, #tile.encoding<L1>>
  %sum = scf.for %k = %0 to %1 step %2 iter_args(%acc = %start) -> (tensor<1xf32, #tile.encoding<L1>>) {
    %tile = mem.load %x[%k] size [16384] : memref<65536xf32, "L3"> -> tensor<16384xf32, #tile.encoding<L1>>
    %next = mem.reduce ins(%tile : tensor<16384xf32, #tile.encoding<L1>>) outs(%acc : tensor<1xf32, #tile.encoding<L1>>)
        domain [16384] maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (0)>] {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      mem.yield %s : f32
    } -> tensor<1xf32, #tile.encoding<L1>>
    scf.yield %next : tensor<1xf32, #tile.encoding<L1>>
  }
  mem.store %sum to %y[0] : tensor<1xf32, #tile.encoding<L1>> to memref<1xf32, "L3">
  func.return
}

// Sixteen warps have room for them: 32 registers of each thread.
// CHECK-LABEL: func.func @warps
// CHECK:         scf.for
// CHECK:           mem.map
// CHECK:           scf.yield
// CHECK:         mem.reduce
func.func @warps(%x: memref<65536xf32, "L3">, %y: memref<1xf32, "L3">) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 65536 : index
  %2 = arith.constant 16384 : index
  %3 = arith.constant 1 : index
  "scf.parallel"(%0, %3, %3) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%p: index):
    %start = mem.fill 0.0 -> tensor<1xf32, #tile.encoding<L1>>
    %sum = scf.for %k = %0 to %1 step %2 iter_args(%acc = %start) -> (tensor<1xf32, #tile.encoding<L1>>) {
      %tile = mem.load %x[%k] size [16384] : memref<65536xf32, "L3"> -> tensor<16384xf32, #tile.encoding<L1>>
      %next = mem.reduce ins(%tile : tensor<16384xf32, #tile.encoding<L1>>) outs(%acc : tensor<1xf32, #tile.encoding<L1>>)
          domain [16384] maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (0)>] {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        mem.yield %s : f32
      } -> tensor<1xf32, #tile.encoding<L1>>
      scf.yield %next : tensor<1xf32, #tile.encoding<L1>>
    }
    mem.store %sum to %y[0] : tensor<1xf32, #tile.encoding<L1>> to memref<1xf32, "L3">
    scf.reduce
  }) {mapping = "grid", warps = 16 : i64} : (index, index, index) -> ()
  func.return
}
