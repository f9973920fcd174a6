// RUN: tlf-opt %s -p convert-mem-to-triton | filecheck %s

// The kernels of a called function are outlined once, and launched for each call, with
// buffers of their own. Names are numbered by launch.

// CHECK-LABEL: func.func @main_0(%x: memref<100xf32, "L3">, %t: memref<100xf32, "L3">) attributes {triton.kernel}
// CHECK-LABEL: func.func @main_1(%t: memref<100xf32, "L3">, %y: memref<100xf32, "L3">) attributes {triton.kernel}
// CHECK-NOT:   triton.kernel
// CHECK-NOT:   @copy
// CHECK-LABEL: func.func @main(
// CHECK-NEXT:    [[T:%.*]] = mem.alloc : memref<100xf32, "L3">
// CHECK-NEXT:    triton.launch @main_0(%x, [[T]]) grid [4]
// CHECK-NEXT:    triton.launch @main_1([[T]], %y) grid [4]
// CHECK-NEXT:    [[U:%.*]] = mem.alloc : memref<100xf32, "L3">
// CHECK-NEXT:    triton.launch @main_0(%y, [[U]]) grid [4]
// CHECK-NEXT:    triton.launch @main_1([[U]], %z) grid [4]
// CHECK-NEXT:    func.return
func.func private @copy(%a: memref<100xf32, "L3">, %b: memref<100xf32, "L3">) attributes {tlf.results = 1 : i64} {
  %zero = arith.constant 0 : index
  %n = arith.constant 100 : index
  %step = arith.constant 32 : index
  %t = mem.alloc : memref<100xf32, "L3">
  "scf.parallel"(%zero, %n, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = mem.load %a[%i] size [32] : memref<100xf32, "L3"> -> tensor<32xf32>
    mem.store %v to %t[%i] : tensor<32xf32> to memref<100xf32, "L3">
    scf.reduce
  }) {mapping = "grid"} : (index, index, index) -> ()
  "scf.parallel"(%zero, %n, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = mem.load %t[%i] size [32] : memref<100xf32, "L3"> -> tensor<32xf32>
    %w = mem.map ins(%v : tensor<32xf32>) domain [32] maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
    ^bb1(%e: f32):
      %f = arith.negf %e : f32
      mem.yield %f : f32
    } -> tensor<32xf32>
    mem.store %w to %b[%i] : tensor<32xf32> to memref<100xf32, "L3">
    scf.reduce
  }) {mapping = "grid"} : (index, index, index) -> ()
  func.return
}
func.func @main(%x: memref<100xf32, "L3">, %y: memref<100xf32, "L3">, %z: memref<100xf32, "L3">) attributes {tlf.results = 2 : i64} {
  func.call @copy(%x, %y) : (memref<100xf32, "L3">, memref<100xf32, "L3">) -> ()
  func.call @copy(%y, %z) : (memref<100xf32, "L3">, memref<100xf32, "L3">) -> ()
  func.return
}
