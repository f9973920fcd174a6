// RUN: TLF_ROUNDTRIP

%p = "test.op"() : () -> index
%ring = "test.op"() : () -> memref<4x5x8xf32, "L2">
%part = "test.op"() : () -> memref<4x5x2xf32, strided<[40, 8, 1], offset: 6>, "L2">
%far = "test.op"() : () -> memref<4x90x8xf32, "L3">

// Along the axis the offset may be any number.
// CHECK:      [[W:%.*]] = mem.window %ring[0, %p, 0] size [4, 3, 8] axis 1 : memref<4x5x8xf32, "L2"> to memref<4x3x8xf32, affine_map<(d0, d1, d2)[s0] -> (d0, ((d1 + s0) mod 5), d2)>, "L2">
%w = mem.window %ring[0, %p, 0] size [4, 3, 8] axis 1 : memref<4x5x8xf32, "L2">
    to memref<4x3x8xf32, affine_map<(d0, d1, d2)[s0] -> (d0, (d1 + s0) mod 5, d2)>, "L2">
// CHECK-NEXT: mem.window %ring[%p, -7, 1] size [1, 5, 7] axis 1 {test.hint = "a"} : memref<4x5x8xf32, "L2"> to memref<1x5x7xf32, affine_map<(d0, d1, d2)[s0] -> (d0, ((d1 + s0) mod 5), d2)>, "L2">
%v = mem.window %ring[%p, -7, 1] size [1, 5, 7] axis 1 {test.hint = "a"}
    : memref<4x5x8xf32, "L2">
    to memref<1x5x7xf32, affine_map<(d0, d1, d2)[s0] -> (d0, (d1 + s0) mod 5, d2)>, "L2">
// A buffer with strides may be a ring, too.
// CHECK-NEXT: mem.window %part[%p, 0, 0] size [2, 5, 2] axis 0 : memref<4x5x2xf32, strided<[40, 8, 1], offset: 6>, "L2"> to memref<2x5x2xf32, affine_map<(d0, d1, d2)[s0] -> (((d0 + s0) mod 4), d1, d2)>, "L2">
%u = mem.window %part[%p, 0, 0] size [2, 5, 2] axis 0
    : memref<4x5x2xf32, strided<[40, 8, 1], offset: 6>, "L2">
    to memref<2x5x2xf32, affine_map<(d0, d1, d2)[s0] -> ((d0 + s0) mod 4, d1, d2)>, "L2">

// Moves read and write a window as any other buffer.
// CHECK-NEXT: [[T:%.*]] = mem.dma %far[0, %p, 0] to [[W]][0, 0, 0] size [4, 3, 8] fill 0.0
%t = mem.dma %far[0, %p, 0] to %w[0, 0, 0] size [4, 3, 8] fill 0.0
    : memref<4x90x8xf32, "L3">
    to memref<4x3x8xf32, affine_map<(d0, d1, d2)[s0] -> (d0, (d1 + s0) mod 5, d2)>, "L2">
// CHECK-NEXT: mem.wait [[T]]
mem.wait %t
