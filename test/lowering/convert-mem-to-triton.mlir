// RUN: tlf-opt %s -p convert-mem-to-triton --split-input-file | filecheck %s

// A grid becomes a kernel, with the buffers it uses as arguments; constants are repeated.

// CHECK-LABEL: func.func @copy_0
// CHECK-SAME:  (%y: memref<100xf32, "L3">, %x: memref<100xf32, "L3">) attributes {triton.kernel} {
// CHECK-DAG:   arith.constant 32 : index
// CHECK:       "scf.parallel"
// CHECK:       {mapping = "grid"}
// CHECK-LABEL: func.func @copy(
// CHECK-NEXT:  triton.launch @copy_0(%y, %x) grid [4] warps 4 stages 3
// CHECK-NEXT:  func.return
func.func @copy(%x: memref<100xf32, "L3">, %unused: memref<4xf32, "L3">, %y: memref<100xf32, "L3">) attributes {tlf.results = 1 : i64} {
  %zero = arith.constant 0 : index
  %n = arith.constant 100 : index
  %step = arith.constant 32 : index
  "scf.parallel"(%zero, %n, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %old = mem.load %y[%i] size [32] : memref<100xf32, "L3"> -> tensor<32xf32>
    %v = mem.load %x[%i] size [32] : memref<100xf32, "L3"> -> tensor<32xf32>
    mem.store %v to %y[%i] : tensor<32xf32> to memref<100xf32, "L3">
    scf.reduce
  }) {mapping = "grid"} : (index, index, index) -> ()
  func.return
}

// -----

// A loop around a grid stays in the host; its index is an argument, and the arithmetic on
// it moves into the kernel. Buffers stay, and warps and stages come from the loops.

// CHECK-LABEL: func.func @rows_0
// CHECK-SAME:  (%x: memref<8x64xf32, "L3">, %h: index, %t: memref<64xf32, "L3">)
// CHECK:       affine.apply
// CHECK-LABEL: func.func @rows(
// CHECK:       [[T:%.*]] = mem.alloc : memref<64xf32, "L3">
// CHECK:       scf.for [[H:%.*]] =
// CHECK-NOT:   affine.apply
// CHECK:       triton.launch @rows_0(%x, [[H]], [[T]]) grid [2] warps 8 stages 5
func.func @rows(%x: memref<8x64xf32, "L3">) attributes {tlf.results = 0 : i64} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %seven = arith.constant 7 : index
  %n = arith.constant 64 : index
  %step = arith.constant 32 : index
  %t = mem.alloc : memref<64xf32, "L3">
  scf.for %h = %zero to %seven step %one {
    %row = affine.apply affine_map<(d0) -> (d0 + 1)> (%h)
    "scf.parallel"(%zero, %n, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%i: index):
      scf.for %k = %zero to %one step %one {
        %v = mem.load %x[%row, %i] size [1, 32] : memref<8x64xf32, "L3"> -> tensor<1x32xf32>
        %w = mem.map ins(%v : tensor<1x32xf32>) domain [32] maps [affine_map<(d0) -> (0, d0)>, affine_map<(d0) -> (d0)>] {
        ^bb1(%a: f32):
          mem.yield %a : f32
        } -> tensor<32xf32>
        mem.store %w to %t[%i] : tensor<32xf32> to memref<64xf32, "L3">
      } {stages = 5 : i64}
      scf.reduce
    }) {mapping = "grid", warps = 8 : i64} : (index, index, index) -> ()
  } {mapping = "host"}
  func.return
}

// -----

// Moves and computation outside of grids become a kernel of one program, up to the next
// grid.

// CHECK-LABEL: func.func @total_0
// CHECK:       mem.load
// CHECK:       mem.store
// CHECK-LABEL: func.func @total(
// CHECK-NEXT:  triton.launch @total_0(%x, %y) grid [1] warps 4 stages 3
// CHECK-NEXT:  func.return
func.func @total(%x: memref<8xf32, "L3">, %y: memref<f32, "L3">) attributes {tlf.results = 1 : i64} {
  %start = mem.fill 0.0 -> tensor<f32>
  %v = mem.load %x[0] size [8] : memref<8xf32, "L3"> -> tensor<8xf32>
  %s = mem.reduce ins(%v : tensor<8xf32>) outs(%start : tensor<f32>) domain [8] maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>] {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    mem.yield %c : f32
  } -> tensor<f32>
  mem.store %s to %y[] : tensor<f32> to memref<f32, "L3">
  func.return
}
