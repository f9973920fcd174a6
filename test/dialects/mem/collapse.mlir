// RUN: tlf-opt %s | filecheck %s
// RUN: tlf-opt %s | tlf-opt | filecheck %s
// RUN: tlf-opt %s --print-op-generic | tlf-opt | filecheck %s

// Rows of the axis that wraps, and others.
// CHECK-LABEL: func.func @rows(
// CHECK:         mem.collapse {{%.*}} axis 0
// CHECK-SAME:        to memref<24x1xf32, affine_map<(d0, d1)[s0] -> ((((d0 floordiv 8) + s0) mod 5), ((d0 mod 8) + d1))>, "L2">
// CHECK:         mem.collapse {{%.*}} axis 1
// CHECK-SAME:        to memref<3x8x1xf32, affine_map<(d0, d1, d2)[s0] -> (((d0 + s0) mod 5), (d1 floordiv 4), ((d1 mod 4) + d2))>, "L2">
func.func @rows(%p: index, %r: memref<5x8xf32, "L2">, %q: memref<5x2x4xf32, "L2">) {
  %w = mem.window %r[%p, 0] size [3, 8] axis 0 : memref<5x8xf32, "L2">
      to memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">
  %v = mem.collapse %w axis 0
      : memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">
      to memref<24x1xf32, affine_map<(d0, d1)[s0] -> ((d0 floordiv 8 + s0) mod 5, d0 mod 8 + d1)>, "L2">
  %u = mem.window %q[%p, 0, 0] size [3, 2, 4] axis 0 : memref<5x2x4xf32, "L2">
      to memref<3x2x4xf32, affine_map<(d0, d1, d2)[s0] -> ((d0 + s0) mod 5, d1, d2)>, "L2">
  %s = mem.collapse %u axis 1
      : memref<3x2x4xf32, affine_map<(d0, d1, d2)[s0] -> ((d0 + s0) mod 5, d1, d2)>, "L2">
      to memref<3x8x1xf32, affine_map<(d0, d1, d2)[s0] -> ((d0 + s0) mod 5, d1 floordiv 4, d1 mod 4 + d2)>, "L2">
  func.return
}
