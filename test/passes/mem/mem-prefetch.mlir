// RUN: tlf-opt %s --target npu -p mem-prefetch | filecheck %s
// RUN: tlf-opt %s --target npu:L2=8K -p mem-prefetch | filecheck %s --check-prefix SMALL

// A load goes up behind the load before it, over work that it has nothing to do with.
// Its wait stays. What is loaded from a buffer that is stored first stays behind the
// store.

// CHECK-LABEL: @chain
// CHECK:       mem.dma %x[
// CHECK-NEXT:  mem.alloc
// CHECK-NEXT:  mem.dma %w[
// CHECK:       mem.wait
// CHECK:       scf.for
// CHECK:       mem.dma {{.*}} to memref<1024xf32, "L3">
// CHECK:       mem.dma %y[
// CHECK-NEXT:  mem.wait

// Without room for both, the load waits for its place.

// SMALL-LABEL: @chain
// SMALL:       mem.dma %x[
// SMALL:       mem.wait
// SMALL:       scf.for
// SMALL:       mem.dma %w[
func.func @chain(
    %x: memref<2048xf32, "L3">, %w: memref<1024xf32, "L3">, %y: memref<1024xf32, "L3">
) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %0 = mem.alloc : memref<2048xf32, "L2">
  %1 = mem.dma %x[0] to %0[0] size [2048] : memref<2048xf32, "L3"> to memref<2048xf32, "L2">
  mem.wait %1
  scf.for %i = %zero to %four step %one {
    %2 = mem.alloc : memref<1024xf32, "L1">
    %3 = mem.dma %0[0] to %2[0] size [1024] : memref<2048xf32, "L2"> to memref<1024xf32, "L1">
    mem.wait %3
    %4 = mem.dma %2[0] to %0[0] size [1024] : memref<1024xf32, "L1"> to memref<2048xf32, "L2">
    mem.wait %4
  }
  %5 = mem.dma %0[0] to %y[0] size [1024] : memref<2048xf32, "L2"> to memref<1024xf32, "L3">
  mem.wait %5
  %6 = mem.alloc : memref<1024xf32, "L2">
  %7 = mem.dma %w[0] to %6[0] size [1024] : memref<1024xf32, "L3"> to memref<1024xf32, "L2">
  %8 = mem.alloc : memref<1024xf32, "L2">
  %9 = mem.dma %y[0] to %8[0] size [1024] : memref<1024xf32, "L3"> to memref<1024xf32, "L2">
  mem.wait %7, %9
  %10 = mem.dma %6[0] to %x[0] size [1024] : memref<1024xf32, "L2"> to memref<2048xf32, "L3">
  %11 = mem.dma %8[0] to %w[0] size [1024] : memref<1024xf32, "L2"> to memref<1024xf32, "L3">
  mem.wait %10, %11
  func.return
}

// Loads do not pass loops that load from the same level.

// CHECK-LABEL: @loop
// CHECK:       scf.for
// CHECK:       }
// CHECK:       mem.dma %w[
func.func @loop(%x: memref<1024xf32, "L3">, %w: memref<1024xf32, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  scf.for %i = %zero to %four step %one {
    %0 = mem.alloc : memref<1024xf32, "L2">
    %1 = mem.dma %x[0] to %0[0] size [1024] : memref<1024xf32, "L3"> to memref<1024xf32, "L2">
    mem.wait %1
  }
  %2 = mem.alloc : memref<1024xf32, "L2">
  %3 = mem.dma %w[0] to %2[0] size [1024] : memref<1024xf32, "L3"> to memref<1024xf32, "L2">
  mem.wait %3
  func.return
}

// What a load reads may be a constant, even one that is named only there.

// CHECK-LABEL: @constant
// CHECK:       mem.dma %x[
// CHECK-NEXT:  mem.alloc
// CHECK-NEXT:  memref.get_global @weights
// CHECK-NEXT:  mem.dma
// CHECK:       scf.for
"memref.global"() <{sym_name = "weights", sym_visibility = "private", type = memref<4xf32, "L3">, initial_value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>, constant}> : () -> ()
func.func @constant(%x: memref<1024xf32, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %0 = mem.alloc : memref<1024xf32, "L2">
  %1 = mem.dma %x[0] to %0[0] size [1024] : memref<1024xf32, "L3"> to memref<1024xf32, "L2">
  mem.wait %1
  scf.for %i = %zero to %four step %one {
    %2 = mem.alloc : memref<1024xf32, "L1">
    %3 = mem.dma %0[0] to %2[0] size [1024] : memref<1024xf32, "L2"> to memref<1024xf32, "L1">
    mem.wait %3
  }
  %w = memref.get_global @weights : memref<4xf32, "L3">
  %4 = mem.alloc : memref<4xf32, "L2">
  %5 = mem.dma %w[0] to %4[0] size [4] : memref<4xf32, "L3"> to memref<4xf32, "L2">
  mem.wait %5
  %6 = mem.dma %4[0] to %x[0] size [4] : memref<4xf32, "L2"> to memref<1024xf32, "L3">
  mem.wait %6
  func.return
}

// A load passes stores beside what it reads, and none to it.

// CHECK-LABEL: @beside
// CHECK:       mem.dma %x[
// CHECK:       mem.dma %left[
// CHECK:       mem.dma {{.*}} to %right[
// CHECK:       mem.dma %right[
func.func @beside(%x: memref<512xf32, "L3">, %y: memref<1536xf32, "L3">) {
  %left = memref.subview %y[0] [1024] [1]
      : memref<1536xf32, "L3"> to memref<1024xf32, strided<[1]>, "L3">
  %right = memref.subview %y[1024] [512] [1]
      : memref<1536xf32, "L3"> to memref<512xf32, strided<[1], offset: 1024>, "L3">
  %0 = mem.alloc : memref<512xf32, "L2">
  %1 = mem.dma %x[0] to %0[0] size [512] : memref<512xf32, "L3"> to memref<512xf32, "L2">
  mem.wait %1
  %2 = mem.dma %0[0] to %right[0] size [512]
      : memref<512xf32, "L2"> to memref<512xf32, strided<[1], offset: 1024>, "L3">
  mem.wait %2
  %3 = mem.alloc : memref<1024xf32, "L2">
  %4 = mem.dma %left[0] to %3[0] size [1024]
      : memref<1024xf32, strided<[1]>, "L3"> to memref<1024xf32, "L2">
  %5 = mem.alloc : memref<512xf32, "L2">
  %6 = mem.dma %right[0] to %5[0] size [512]
      : memref<512xf32, strided<[1], offset: 1024>, "L3"> to memref<512xf32, "L2">
  mem.wait %4, %6
  func.return
}
