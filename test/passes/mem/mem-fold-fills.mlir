// RUN: tlf-opt %s --split-input-file -p mem-fold-fills | filecheck %s

// What overwrites has no fill before it; another shape of the same elements is all.
// CHECK:      func.func @sums
// CHECK-NOT:    mem.fill
// CHECK:        mem.contract {{.*}} domain [4, 6, 8] maps {{.*}} overwrite{{$}}
// CHECK:        mem.contract {{.*}} domain [2, 2, 6, 8] maps {{.*}} overwrite{{$}}
// CHECK:        mem.reduce {{.*}} overwrite {
func.func @sums(%a: memref<4x8xf32, "L1">, %b: memref<8x6xf32, "L1">) {
  %c = mem.alloc : memref<4x6xf32, "L1">
  mem.fill 0.0 into %c : memref<4x6xf32, "L1">
  mem.contract ins(%a, %b : memref<4x8xf32, "L1">, memref<8x6xf32, "L1">)
      outs(%c : memref<4x6xf32, "L1">) domain [4, 6, 8]
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
            affine_map<(m, n, k) -> (m, n)>]
  %d = mem.alloc : memref<4x6xf32, "L1">
  mem.fill 0.0 into %d : memref<4x6xf32, "L1">
  %e = memref.reinterpret_cast %a to offset: [0], sizes: [2, 2, 8], strides: [16, 8, 1]
      : memref<4x8xf32, "L1"> to memref<2x2x8xf32, "L1">
  %f = memref.reinterpret_cast %d to offset: [0], sizes: [2, 2, 6], strides: [12, 6, 1]
      : memref<4x6xf32, "L1"> to memref<2x2x6xf32, "L1">
  mem.contract ins(%e, %b : memref<2x2x8xf32, "L1">, memref<8x6xf32, "L1">)
      outs(%f : memref<2x2x6xf32, "L1">) domain [2, 2, 6, 8]
      maps [affine_map<(l, m, n, k) -> (l, m, k)>, affine_map<(l, m, n, k) -> (k, n)>,
            affine_map<(l, m, n, k) -> (l, m, n)>]
  %s = mem.alloc : memref<4xf32, "L1">
  mem.fill -inf into %s : memref<4xf32, "L1">
  mem.reduce ins(%a : memref<4x8xf32, "L1">) outs(%s : memref<4xf32, "L1">) domain [4, 8]
      maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>] {
  ^bb0(%x: f32, %acc: f32):
    %y = arith.maximumf %x, %acc : f32
    mem.yield %y : f32
  }
  func.return
}

// -----

// In loops, the first of all iterations overwrites, however often the fill is met.
// What comes after, even in the loop, does not matter.
// CHECK:      scf.for %i
// CHECK-NOT:    mem.fill
// CHECK:        scf.for %j
// CHECK-NEXT:     scf.for %k
// CHECK-NEXT:       [[FROM:%.*]] = arith.subi %k, %c2 : index
// CHECK-NEXT:       [[SUM:%.*]] = arith.addi %j, [[FROM]] : index
// CHECK-NEXT:       mem.reduce {{.*}} overwrite unless [[SUM]] {
// CHECK:            mem.reduce {{.*}} maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] {
func.func @loops(%a: memref<4x8xi32, "L1">, %n: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %s = mem.alloc : memref<4xi32, "L1">
  scf.for %i = %c0 to %n step %c2 {
    mem.fill 1 into %s : memref<4xi32, "L1">
    scf.for %j = %c0 to %c8 step %c2 {
      scf.for %k = %c2 to %c8 step %c2 {
        mem.reduce ins(%a : memref<4x8xi32, "L1">) outs(%s : memref<4xi32, "L1">)
            domain [4, 8]
            maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>] {
        ^bb0(%x: i32, %acc: i32):
          %y = arith.muli %x, %acc : i32
          mem.yield %y : i32
        }
        mem.reduce ins(%a : memref<4x8xi32, "L1">) outs(%s : memref<4xi32, "L1">)
            domain [4, 8]
            maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>] {
        ^bb0(%x: i32, %acc: i32):
          %y = arith.maxsi %x, %acc : i32
          mem.yield %y : i32
        }
      }
    }
  }
  func.return
}

// -----

// All outputs of an operation start themselves, or none.
// CHECK:      func.func @outputs
// CHECK-NOT:    mem.fill
// CHECK:        mem.reduce {{.*}} overwrite {
// CHECK:        mem.fill 0.0 into
// CHECK-NEXT:   mem.reduce {{.*}} maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> ()>] {
func.func @outputs(%a: memref<8xf32, "L1">, %t: memref<f32, "L1">) {
  %r = mem.alloc : memref<f32, "L1">
  %s = mem.alloc : memref<f32, "L1">
  mem.fill inf into %r : memref<f32, "L1">
  mem.fill 0.0 into %s : memref<f32, "L1">
  mem.reduce ins(%a, %a : memref<8xf32, "L1">, memref<8xf32, "L1">)
      outs(%r, %s : memref<f32, "L1">, memref<f32, "L1">) domain [8]
      maps [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>,
            affine_map<(k) -> ()>] {
  ^bb0(%x: f32, %y: f32, %p: f32, %q: f32):
    %z = arith.minimumf %x, %p : f32
    %w = arith.addf %y, %q : f32
    mem.yield %z, %w : f32, f32
  }
  mem.fill 0.0 into %s : memref<f32, "L1">
  mem.reduce ins(%a, %a : memref<8xf32, "L1">, memref<8xf32, "L1">)
      outs(%t, %s : memref<f32, "L1">, memref<f32, "L1">) domain [8]
      maps [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>,
            affine_map<(k) -> ()>] {
  ^bb0(%x: f32, %y: f32, %p: f32, %q: f32):
    %z = arith.minimumf %x, %p : f32
    %w = arith.addf %y, %q : f32
    mem.yield %z, %w : f32, f32
  }
  func.return
}

// -----

// Loops that may not run, other numbers, other parts, what reads or writes before, and
// buffers that are no allocation: nothing changes.
// CHECK:         func.func @stay
// CHECK-COUNT-9: mem.fill
// CHECK-NOT:     overwrite
func.func @stay(%a: memref<4x8xf32, "L1">, %n: index, %arg: memref<4xf32, "L1">,
                %x: memref<4xf32, "L2">, %sq: memref<4x4xf32, "L1">) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %s = mem.alloc : memref<4xf32, "L1">
  // It may not run.
  mem.fill 0.0 into %s : memref<4xf32, "L1">
  scf.for %i = %c0 to %n step %c2 {
    mem.reduce ins(%a : memref<4x8xf32, "L1">) outs(%s : memref<4xf32, "L1">)
        domain [4, 8] maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>] {
    ^bb0(%p: f32, %q: f32):
      %r = arith.addf %p, %q : f32
      mem.yield %r : f32
    }
  }
  // It does not run.
  mem.fill 0.0 into %s : memref<4xf32, "L1">
  scf.for %i = %c2 to %c2 step %c2 {
    mem.reduce ins(%a : memref<4x8xf32, "L1">) outs(%s : memref<4xf32, "L1">)
        domain [4, 8] maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>] {
    ^bb0(%p: f32, %q: f32):
      %r = arith.addf %p, %q : f32
      mem.yield %r : f32
    }
  }
  // 0 does not leave maxima alone, nor does -0 leave sums alone.
  mem.fill 0.0 into %s : memref<4xf32, "L1">
  mem.reduce ins(%a : memref<4x8xf32, "L1">) outs(%s : memref<4xf32, "L1">)
      domain [4, 8] maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>] {
  ^bb0(%p: f32, %q: f32):
    %r = arith.maximumf %p, %q : f32
    mem.yield %r : f32
  }
  mem.fill -0.0 into %s : memref<4xf32, "L1">
  mem.reduce ins(%a : memref<4x8xf32, "L1">) outs(%s : memref<4xf32, "L1">)
      domain [4, 8] maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>] {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    mem.yield %r : f32
  }
  // Only a part.
  mem.fill 0.0 into %s : memref<4xf32, "L1">
  %half = memref.subview %s[0] [2] [1]
      : memref<4xf32, "L1"> to memref<2xf32, strided<[1]>, "L1">
  mem.reduce ins(%sq : memref<4x4xf32, "L1">)
      outs(%half : memref<2xf32, strided<[1]>, "L1">)
      domain [2, 4] maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>] {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    mem.yield %r : f32
  }
  // It is copied, masked, and read by what combines into it.
  mem.fill 0.0 into %s : memref<4xf32, "L1">
  %t = mem.dma %s[0] to %x[0] size [4] : memref<4xf32, "L1"> to memref<4xf32, "L2">
  mem.wait %t
  mem.reduce ins(%a : memref<4x8xf32, "L1">) outs(%s : memref<4xf32, "L1">)
      domain [4, 8] maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>] {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    mem.yield %r : f32
  }
  mem.fill 0.0 into %s : memref<4xf32, "L1">
  mem.mask %s at [2] bounds [4] fill 1.0 : memref<4xf32, "L1">
  mem.reduce ins(%a : memref<4x8xf32, "L1">) outs(%s : memref<4xf32, "L1">)
      domain [4, 8] maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>] {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    mem.yield %r : f32
  }
  mem.fill 0.0 into %s : memref<4xf32, "L1">
  mem.contract ins(%sq, %s : memref<4x4xf32, "L1">, memref<4xf32, "L1">)
      outs(%s : memref<4xf32, "L1">) domain [4, 4]
      maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>,
            affine_map<(m, k) -> (m)>]
  // Another argument may be the same buffer.
  mem.fill 0.0 into %arg : memref<4xf32, "L1">
  mem.reduce ins(%a : memref<4x8xf32, "L1">) outs(%arg : memref<4xf32, "L1">)
      domain [4, 8] maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>] {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    mem.yield %r : f32
  }
  func.return
}
