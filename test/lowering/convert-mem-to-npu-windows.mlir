// RUN: tlf-opt %s --split-input-file --target npu-tiny -p "mem-plan,convert-mem-to-npu,tidy" | filecheck %s

// A box that may straddle the end of the ring is two instructions. What is outside of the
// tensor is filled in both of them.
// CHECK-LABEL: npu.program @straddles
// CHECK:         scf.for [[I:%.*]] =
// CHECK-NEXT:      [[P:%.*]] = arith.remsi [[I]], [[FIVE:%.*]] : index
// CHECK-NEXT:      [[LEFT:%.*]] = arith.subi [[FIVE]], [[P]] : index
// CHECK-NEXT:      [[N:%.*]] = arith.minsi [[LEFT]], %{{.*}} : index
// CHECK:           npu.dma L2[%{{.*}}](16, 4):f32 from L3[%{{.*}}](16, 4):f32 shape {{\[}}[[N]], 4] inside {{.*}} fill 2.0
// CHECK:           [[M:%.*]] = arith.subi %{{.*}}, [[N]] : index
// CHECK:           npu.dma L2[%{{.*}}](16, 4):f32 from L3[%{{.*}}](16, 4):f32 shape {{\[}}[[M]], 4] inside {{.*}} fill 2.0
// CHECK-NOT:       npu.dma
func.func @straddles(%x: memref<8x4xf32, "L3">) attributes {tlf.results = 0 : i64} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c2 = arith.constant 2 : index
  %ring = mem.alloc : memref<5x4xf32, "L2">
  scf.for %i = %c0 to %c8 step %c2 {
    %w = mem.window %ring[%i, 0] size [3, 4] axis 0 : memref<5x4xf32, "L2">
        to memref<3x4xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">
    %t = mem.dma %x[%i, 0] to %w[0, 0] size [3, 4] fill 2.0 : memref<8x4xf32, "L3">
        to memref<3x4xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">
    mem.wait %t
  }
  func.return
}

// -----

// Two rows at a multiple of two never straddle the end of six, nor does a whole part of
// a window whose offset is known.
// CHECK-LABEL: npu.program @fits
// CHECK:         npu.dma L2[%{{.*}}](4):f32 from L3[0](4):f32 shape [8]
// CHECK-NEXT:    npu.signal "dma_l3_l2"
// CHECK:         npu.dma L3[%{{.*}}](4):f32 from L2[16](4):f32 shape [8]
// CHECK-NOT:     npu.dma
func.func @fits(%x: memref<8x4xf32, "L3">, %y: memref<8x4xf32, "L3">)
    attributes {tlf.results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c2 = arith.constant 2 : index
  %ring = mem.alloc : memref<6x4xf32, "L2">
  scf.for %i = %c0 to %c8 step %c2 {
    %p = affine.apply affine_map<(i) -> (i + 4)> (%i)
    %w = mem.window %ring[%p, 0] size [2, 4] axis 0 : memref<6x4xf32, "L2">
        to memref<2x4xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 6, d1)>, "L2">
    %t = mem.dma %x[0, 0] to %w[0, 0] size [2, 4] : memref<8x4xf32, "L3">
        to memref<2x4xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 6, d1)>, "L2">
    mem.wait %t
    %v = mem.window %ring[6, 0] size [4, 4] axis 0 : memref<6x4xf32, "L2">
        to memref<4x4xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 6, d1)>, "L2">
    %u = mem.dma %v[1, 0] to %y[%i, 0] size [2, 4]
        : memref<4x4xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 6, d1)>, "L2">
        to memref<8x4xf32, "L3">
    mem.wait %u
  }
  func.return
}
