// RUN: tlf-opt %s --split-input-file -p mem-fold-casts | filecheck %s

// The sum is rounded as it is written; what is in between is gone.
// CHECK-LABEL: func.func @rounded
// CHECK-NEXT:    %d = mem.alloc : memref<4x6xf16, "L1">
// CHECK-NEXT:    mem.contract {{.*}} outs(%d : memref<4x6xf16, "L1">) {{.*}} overwrite{{$}}
// CHECK-NEXT:    mem.dma %d
func.func @rounded(%a: memref<4x8xf16, "L1">, %b: memref<8x6xf16, "L1">, %r: memref<4x6xf16, "L2">) {
  %c = mem.alloc : memref<4x6xf32, "L1">
  mem.contract ins(%a, %b : memref<4x8xf16, "L1">, memref<8x6xf16, "L1">)
      outs(%c : memref<4x6xf32, "L1">) domain [4, 6, 8]
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
            affine_map<(m, n, k) -> (m, n)>] overwrite
  %d = mem.alloc : memref<4x6xf16, "L1">
  mem.map ins(%c : memref<4x6xf32, "L1">) outs(%d : memref<4x6xf16, "L1">)
      domain [4, 6] maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    mem.yield %y : f16
  }
  %t = mem.dma %d[0, 0] to %r[0, 0] size [4, 6]
      : memref<4x6xf16, "L1"> to memref<4x6xf16, "L2">
  mem.wait %t
  func.return
}

// -----

// So is a sum that is written under another shape.
// CHECK-LABEL: func.func @shaped
// CHECK-NEXT:    %d = mem.alloc : memref<12x6xf16, "L1">
// CHECK-NEXT:    [[S:%.*]] = memref.reinterpret_cast %d to offset: [0], sizes: [4, 3, 6], strides: [18, 6, 1] : memref<12x6xf16, "L1"> to memref<4x3x6xf16, "L1">
// CHECK-NEXT:    mem.contract {{.*}} outs([[S]] : memref<4x3x6xf16, "L1">) {{.*}} overwrite{{$}}
// CHECK-NEXT:    mem.dma %d
func.func @shaped(%a: memref<4x8xf16, "L1">, %b: memref<3x8x6xf16, "L1">, %r: memref<12x6xf16, "L2">) {
  %c = mem.alloc : memref<12x6xf32, "L1">
  %s = memref.reinterpret_cast %c to offset: [0], sizes: [4, 3, 6], strides: [18, 6, 1]
      : memref<12x6xf32, "L1"> to memref<4x3x6xf32, "L1">
  mem.contract ins(%a, %b : memref<4x8xf16, "L1">, memref<3x8x6xf16, "L1">)
      outs(%s : memref<4x3x6xf32, "L1">) domain [4, 3, 6, 8]
      maps [affine_map<(m, j, n, k) -> (m, k)>, affine_map<(m, j, n, k) -> (j, k, n)>,
            affine_map<(m, j, n, k) -> (m, j, n)>] overwrite
  %d = mem.alloc : memref<12x6xf16, "L1">
  mem.map ins(%c : memref<12x6xf32, "L1">) outs(%d : memref<12x6xf16, "L1">)
      domain [12, 6] maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    mem.yield %y : f16
  }
  %t = mem.dma %d[0, 0] to %r[0, 0] size [12, 6]
      : memref<12x6xf16, "L1"> to memref<12x6xf16, "L2">
  mem.wait %t
  func.return
}

// -----

// A part of a buffer is not all of it.
// CHECK-LABEL: func.func @part
// CHECK:         mem.contract {{.*}} outs({{.*}} : memref<3x6xf32, "L1">)
// CHECK:         mem.map
func.func @part(%a: memref<3x8xf16, "L1">, %b: memref<8x6xf16, "L1">, %r: memref<4x6xf16, "L2">) {
  %c = mem.alloc : memref<4x6xf32, "L1">
  %s = memref.reinterpret_cast %c to offset: [0], sizes: [3, 6], strides: [6, 1]
      : memref<4x6xf32, "L1"> to memref<3x6xf32, "L1">
  mem.contract ins(%a, %b : memref<3x8xf16, "L1">, memref<8x6xf16, "L1">)
      outs(%s : memref<3x6xf32, "L1">) domain [3, 6, 8]
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
            affine_map<(m, n, k) -> (m, n)>] overwrite
  %d = mem.alloc : memref<4x6xf16, "L1">
  mem.map ins(%c : memref<4x6xf32, "L1">) outs(%d : memref<4x6xf16, "L1">)
      domain [4, 6] maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    mem.yield %y : f16
  }
  %t = mem.dma %d[0, 0] to %r[0, 0] size [4, 6]
      : memref<4x6xf16, "L1"> to memref<4x6xf16, "L2">
  mem.wait %t
  func.return
}

// -----

// Sums that start elsewhere are not rounded each time.
// CHECK-LABEL: func.func @summed
// CHECK:         mem.contract {{.*}} outs(%c : memref<4x6xf32, "L1">)
// CHECK:         mem.map
func.func @summed(%a: memref<4x8xf16, "L1">, %b: memref<8x6xf16, "L1">, %r: memref<4x6xf16, "L2">) {
  %c = mem.alloc : memref<4x6xf32, "L1">
  mem.fill 1.0 into %c : memref<4x6xf32, "L1">
  mem.contract ins(%a, %b : memref<4x8xf16, "L1">, memref<8x6xf16, "L1">)
      outs(%c : memref<4x6xf32, "L1">) domain [4, 6, 8]
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
            affine_map<(m, n, k) -> (m, n)>]
  %d = mem.alloc : memref<4x6xf16, "L1">
  mem.map ins(%c : memref<4x6xf32, "L1">) outs(%d : memref<4x6xf16, "L1">)
      domain [4, 6] maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    mem.yield %y : f16
  }
  %t = mem.dma %d[0, 0] to %r[0, 0] size [4, 6]
      : memref<4x6xf16, "L1"> to memref<4x6xf16, "L2">
  mem.wait %t
  func.return
}

// -----

// Others read the exact sums.
// CHECK-LABEL: func.func @read
// CHECK:         mem.contract {{.*}} outs(%c : memref<4x6xf32, "L1">)
// CHECK:         mem.map
func.func @read(%a: memref<4x8xf16, "L1">, %b: memref<8x6xf16, "L1">, %r: memref<4x6xf16, "L2">) {
  %c = mem.alloc : memref<4x6xf32, "L1">
  mem.contract ins(%a, %b : memref<4x8xf16, "L1">, memref<8x6xf16, "L1">)
      outs(%c : memref<4x6xf32, "L1">) domain [4, 6, 8]
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
            affine_map<(m, n, k) -> (m, n)>] overwrite
  %d = mem.alloc : memref<4x6xf16, "L1">
  mem.map ins(%c : memref<4x6xf32, "L1">) outs(%d : memref<4x6xf16, "L1">)
      domain [4, 6] maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    mem.yield %y : f16
  }
  %e = mem.alloc : memref<4x6xbf16, "L1">
  mem.map ins(%c : memref<4x6xf32, "L1">) outs(%e : memref<4x6xbf16, "L1">)
      domain [4, 6] maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to bf16
    mem.yield %y : bf16
  }
  %t = mem.dma %d[0, 0] to %r[0, 0] size [4, 6]
      : memref<4x6xf16, "L1"> to memref<4x6xf16, "L2">
  mem.wait %t
  func.return
}

// -----

// The place of the rounded sums is in use before.
// CHECK-LABEL: func.func @written
// CHECK:         mem.contract {{.*}} outs(%c : memref<4x6xf32, "L1">)
// CHECK:         mem.map
func.func @written(%a: memref<4x8xf16, "L1">, %b: memref<8x6xf16, "L1">, %r: memref<4x6xf16, "L2">) {
  %c = mem.alloc : memref<4x6xf32, "L1">
  %d = mem.alloc : memref<4x6xf16, "L1">
  mem.contract ins(%a, %b : memref<4x8xf16, "L1">, memref<8x6xf16, "L1">)
      outs(%c : memref<4x6xf32, "L1">) domain [4, 6, 8]
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
            affine_map<(m, n, k) -> (m, n)>] overwrite
  mem.fill 2.0 into %d : memref<4x6xf16, "L1">
  mem.map ins(%c : memref<4x6xf32, "L1">) outs(%d : memref<4x6xf16, "L1">)
      domain [4, 6] maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    mem.yield %y : f16
  }
  %t = mem.dma %d[0, 0] to %r[0, 0] size [4, 6]
      : memref<4x6xf16, "L1"> to memref<4x6xf16, "L2">
  mem.wait %t
  func.return
}

// -----

// An instruction rounds to the type of its factors.
// CHECK-LABEL: func.func @other
// CHECK:         mem.contract {{.*}} outs(%c : memref<4x6xf32, "L1">)
// CHECK:         mem.map
func.func @other(%a: memref<4x8xf16, "L1">, %b: memref<8x6xf16, "L1">, %r: memref<4x6xbf16, "L2">) {
  %c = mem.alloc : memref<4x6xf32, "L1">
  mem.contract ins(%a, %b : memref<4x8xf16, "L1">, memref<8x6xf16, "L1">)
      outs(%c : memref<4x6xf32, "L1">) domain [4, 6, 8]
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
            affine_map<(m, n, k) -> (m, n)>] overwrite
  %d = mem.alloc : memref<4x6xbf16, "L1">
  mem.map ins(%c : memref<4x6xf32, "L1">) outs(%d : memref<4x6xbf16, "L1">)
      domain [4, 6] maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to bf16
    mem.yield %y : bf16
  }
  %t = mem.dma %d[0, 0] to %r[0, 0] size [4, 6]
      : memref<4x6xbf16, "L1"> to memref<4x6xbf16, "L2">
  mem.wait %t
  func.return
}
