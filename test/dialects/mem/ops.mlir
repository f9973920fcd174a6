// RUN: TLF_ROUNDTRIP

%i = "test.op"() : () -> index
%far, %mid = "test.op"() : () -> (memref<1000x64xf32, "L3">, memref<16x66xf32, "L2">)

// CHECK: mem.alloc : memref<16x64xf32, "L2">
%0 = mem.alloc : memref<16x64xf32, "L2">
// CHECK-NEXT: mem.alloc at 1024 {test.hint = "a"} : memref<16x64xbf16, "L1">
%1 = mem.alloc at 1024 {test.hint = "a"} : memref<16x64xbf16, "L1">

// Offsets are values or numbers; numbers may be negative.
// CHECK-NEXT: [[T0:%.*]] = mem.dma %far[%i, -1] to %mid[0, 0] size [16, 66] fill -inf : memref<1000x64xf32, "L3"> to memref<16x66xf32, "L2">
%t0 = mem.dma %far[%i, -1] to %mid[0, 0] size [16, 66] fill -inf
    : memref<1000x64xf32, "L3"> to memref<16x66xf32, "L2">
// CHECK-NEXT: mem.dma %mid[14, %i] to %far[%i, 0] size [4, 4] clipped : memref<16x66xf32, "L2"> to memref<1000x64xf32, "L3">
%clipped = mem.dma %mid[14, %i] to %far[%i, 0] size [4, 4] clipped
  : memref<16x66xf32, "L2"> to memref<1000x64xf32, "L3">
// CHECK-NEXT: [[T1:%.*]] = mem.dma %mid[0, %i] to %far[%i, %i] size [4, 4] ahead 2 : memref<16x66xf32, "L2"> to memref<1000x64xf32, "L3">
%t1 = mem.dma %mid[0, %i] to %far[%i, %i] size [4, 4] ahead 2
    : memref<16x66xf32, "L2"> to memref<1000x64xf32, "L3">
// CHECK-NEXT: mem.wait [[T0]], [[T1]]
mem.wait %t0, %t1

// Moves to and from values.
// CHECK-NEXT: [[V:%.*]] = mem.load %far[%i, 0] size [16, 64] fill 0.1 : memref<1000x64xf32, "L3"> -> tensor<16x64xf32>
%v = mem.load %far[%i, 0] size [16, 64] fill 0.1
    : memref<1000x64xf32, "L3"> -> tensor<16x64xf32>
// CHECK-NEXT: mem.store [[V]] to %far[%i, 0] : tensor<16x64xf32> to memref<1000x64xf32, "L3">
mem.store %v to %far[%i, 0] : tensor<16x64xf32> to memref<1000x64xf32, "L3">

// -----

%i = "test.op"() : () -> index
%a, %n = "test.op"() : () -> (memref<16x64xf32, "L1">, memref<3xi32, "L1">)
%t = "test.op"() : () -> tensor<16x64xf32>

// CHECK: mem.fill 1.0e-30 into %a : memref<16x64xf32, "L1">
mem.fill 1.0e-30 into %a : memref<16x64xf32, "L1">
// CHECK-NEXT: mem.fill -7 into %n : memref<3xi32, "L1">
mem.fill -7 into %n : memref<3xi32, "L1">
// CHECK-NEXT: mem.fill nan -> tensor<3xbf16>
%0 = mem.fill nan -> tensor<3xbf16>
// CHECK-NEXT: mem.mask %a at [%i, -2] bounds [1000, 512] fill 0.0 : memref<16x64xf32, "L1">
mem.mask %a at [%i, -2] bounds [1000, 512] fill 0.0 : memref<16x64xf32, "L1">
// CHECK-NEXT: mem.mask %t at [0, 0] bounds [10, 60] fill inf : tensor<16x64xf32> -> tensor<16x64xf32>
%1 = mem.mask %t at [0, 0] bounds [10, 60] fill inf
    : tensor<16x64xf32> -> tensor<16x64xf32>

// -----

%a, %b = "test.op"() : () -> (memref<16x64xf32, "L1">, memref<64xf32, "L1">)
%s, %c = "test.op"() : () -> (memref<16xf32, "L1">, memref<16x64xf32, "L1">)

// CHECK: mem.map ins(%a, %b : memref<16x64xf32, "L1">, memref<64xf32, "L1">) outs(%c : memref<16x64xf32, "L1">) domain [16, 64]
mem.map ins(%a, %b : memref<16x64xf32, "L1">, memref<64xf32, "L1">)
    outs(%c : memref<16x64xf32, "L1">) domain [16, 64]
    maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>,
          affine_map<(d0, d1) -> (d0, d1)>] {
^bb0(%x: f32, %y: f32):
  %z = arith.addf %x, %y : f32
  // CHECK: mem.yield %z : f32
  mem.yield %z : f32
}
// CHECK: mem.reduce ins(%a : memref<16x64xf32, "L1">) outs(%s : memref<16xf32, "L1">) domain [16, 64]
mem.reduce ins(%a : memref<16x64xf32, "L1">) outs(%s : memref<16xf32, "L1">)
    domain [16, 64]
    maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] {
^bb0(%x: f32, %acc: f32):
  %z = arith.maximumf %acc, %x : f32
  mem.yield %z : f32
}
// CHECK: mem.map
mem.map ins(%a : memref<16x64xf32, "L1">) outs(%a : memref<16x64xf32, "L1">) domain [16, 64]
    maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
^bb0(%x: f32):
  // CHECK: %z = mem.remf %x, %x : f32
  %z = mem.remf %x, %x : f32
  // CHECK: %y = mem.remf %x, %z fastmath<afn> : f32
  %y = mem.remf %x, %z fastmath<afn> : f32
  mem.yield %y : f32
}

// -----

// The value forms: a map without outs, a reduction and a contraction from initial values.
%a, %b, %c = "test.op"() : () -> (tensor<16x8xbf16>, tensor<8x64xbf16>, tensor<16x64xf32>)

// CHECK: mem.contract ins(%a, %b : tensor<16x8xbf16>, tensor<8x64xbf16>) outs(%c : tensor<16x64xf32>) domain [16, 64, 8] maps {{.*}} precision "tf32" -> tensor<16x64xf32>
%0 = mem.contract ins(%a, %b : tensor<16x8xbf16>, tensor<8x64xbf16>)
    outs(%c : tensor<16x64xf32>) domain [16, 64, 8]
    maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
          affine_map<(m, n, k) -> (m, n)>] precision "tf32" -> tensor<16x64xf32>
// CHECK: mem.map ins(%0 : tensor<16x64xf32>) domain [64, 16]
%1 = mem.map ins(%0 : tensor<16x64xf32>) domain [64, 16]
    maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>] {
^bb0(%x: f32):
  mem.yield %x : f32
// CHECK: -> tensor<64x16xf32>
} -> tensor<64x16xf32>

// -----

// Sums that overwrite their outputs: always, or where an index is 0.
%a, %b, %i = "test.op"() : () -> (memref<4x8xf32, "L1">, memref<4xf32, "L1">, index)

// CHECK: mem.contract ins(%a, %a : memref<4x8xf32, "L1">, memref<4x8xf32, "L1">) outs(%b : memref<4xf32, "L1">) domain [4, 8] maps {{.*}} precision "tf32" overwrite{{$}}
mem.contract ins(%a, %a : memref<4x8xf32, "L1">, memref<4x8xf32, "L1">)
    outs(%b : memref<4xf32, "L1">) domain [4, 8]
    maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>,
          affine_map<(m, k) -> (m)>] precision "tf32" overwrite
// CHECK: mem.contract {{.*}} maps {{.*}} overwrite unless %i {test.hint = "a"}{{$}}
mem.contract ins(%a, %a : memref<4x8xf32, "L1">, memref<4x8xf32, "L1">)
    outs(%b : memref<4xf32, "L1">) domain [4, 8]
    maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>,
          affine_map<(m, k) -> (m)>] overwrite unless %i {test.hint = "a"}
// CHECK: mem.reduce ins(%a : memref<4x8xf32, "L1">) outs(%b : memref<4xf32, "L1">) domain [4, 8] maps {{.*}} overwrite unless %i {
mem.reduce ins(%a : memref<4x8xf32, "L1">) outs(%b : memref<4xf32, "L1">) domain [4, 8]
    maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>] overwrite unless %i {
^bb0(%x: f32, %acc: f32):
  %z = arith.addf %acc, %x : f32
  mem.yield %z : f32
}
// CHECK: mem.reduce {{.*}} overwrite attributes {test.hint = "a"} {
mem.reduce ins(%a : memref<4x8xf32, "L1">) outs(%b : memref<4xf32, "L1">) domain [4, 8]
    maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>] overwrite
    attributes {test.hint = "a"} {
^bb0(%x: f32, %acc: f32):
  %z = arith.addf %acc, %x : f32
  mem.yield %z : f32
}
