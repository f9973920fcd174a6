// RUN: tlf-opt %s --split-input-file --target npu -p mem-pipeline | filecheck %s

// Two products with the vector engine in between: the first one of later iterations goes
// before all else of this one, behind the load of what it reads.
// CHECK-LABEL: func.func @scores
// CHECK:         %s = mem.alloc : memref<3x4x16xf32, "L1">
// CHECK:         scf.for
// CHECK:           [[T:%.*]] = mem.dma %k[{{.*}}] to %k0{{.*}} ahead 2
// CHECK-NEXT:      [[S:%.*]] = memref.subview %s
// CHECK-NEXT:      mem.wait [[T]]
// CHECK-NEXT:      mem.contract ins(%q, {{.*}} outs([[S]] : {{.*}} overwrite ahead 2
// CHECK:           mem.map
// CHECK:           mem.contract ins(%p, %v : {{.*}} affine_map<(d0, d1, d2) -> (d0, d1)>]{{$}}
func.func @scores(%q: memref<4x8xf16, "L1">, %k: memref<48x16xf16, "L2">, %v: memref<16x8xf16, "L1">, %o: memref<4x8xf32, "L1">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %six = arith.constant 6 : index
  scf.for %i = %zero to %six step %one {
    %k0 = mem.alloc : memref<8x16xf16, "L1">
    %t = mem.dma %k[%i, 0] to %k0[0, 0] size [8, 16]
        : memref<48x16xf16, "L2"> to memref<8x16xf16, "L1">
    mem.wait %t
    %s = mem.alloc : memref<4x16xf32, "L1">
    mem.contract ins(%q, %k0 : memref<4x8xf16, "L1">, memref<8x16xf16, "L1">)
        outs(%s : memref<4x16xf32, "L1">) domain [4, 16, 8]
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>] overwrite
    %p = mem.alloc : memref<4x16xf16, "L1">
    mem.map ins(%s : memref<4x16xf32, "L1">) outs(%p : memref<4x16xf16, "L1">)
        domain [4, 16] maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] {
    ^bb0(%x: f32):
      %y = math.exp %x : f32
      %z = arith.truncf %y : f32 to f16
      mem.yield %z : f16
    }
    mem.contract ins(%p, %v : memref<4x16xf16, "L1">, memref<16x8xf16, "L1">)
        outs(%o : memref<4x8xf32, "L1">) domain [4, 8, 16]
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>]
  } {stages = 3 : i64}
  func.return
}

// -----

// Nothing waits for the only product: the next one follows it anyway.
// CHECK-LABEL: func.func @alone
// CHECK:         mem.contract {{.*}} overwrite{{$}}
func.func @alone(%q: memref<4x8xf16, "L1">, %k: memref<48x16xf16, "L2">, %v: memref<16x8xf16, "L1">, %o: memref<4x8xf32, "L1">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %six = arith.constant 6 : index
  scf.for %i = %zero to %six step %one {
    %k0 = mem.alloc : memref<8x16xf16, "L1">
    %t = mem.dma %k[%i, 0] to %k0[0, 0] size [8, 16]
        : memref<48x16xf16, "L2"> to memref<8x16xf16, "L1">
    mem.wait %t
    %s = mem.alloc : memref<4x16xf32, "L1">
    mem.contract ins(%q, %k0 : memref<4x8xf16, "L1">, memref<8x16xf16, "L1">)
        outs(%s : memref<4x16xf32, "L1">) domain [4, 16, 8]
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>] overwrite
    %p = mem.alloc : memref<4x16xf16, "L1">
    mem.map ins(%s : memref<4x16xf32, "L1">) outs(%p : memref<4x16xf16, "L1">)
        domain [4, 16] maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] {
    ^bb0(%x: f32):
      %y = math.exp %x : f32
      %z = arith.truncf %y : f32 to f16
      mem.yield %z : f16
    }
  } {stages = 3 : i64}
  func.return
}

// -----

// What the product reads comes from the iteration before.
// CHECK-LABEL: func.func @carried
// CHECK:         mem.contract {{.*}} overwrite{{$}}
// CHECK:         mem.contract
func.func @carried(%q: memref<4x8xf16, "L1">, %k: memref<48x16xf16, "L2">, %v: memref<16x8xf16, "L1">, %o: memref<4x8xf32, "L1">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %six = arith.constant 6 : index
  scf.for %i = %zero to %six step %one {
    %k0 = mem.alloc : memref<8x16xf16, "L1">
    %t = mem.dma %k[%i, 0] to %k0[0, 0] size [8, 16]
        : memref<48x16xf16, "L2"> to memref<8x16xf16, "L1">
    mem.wait %t
    %s = mem.alloc : memref<4x16xf32, "L1">
    mem.contract ins(%q, %k0 : memref<4x8xf16, "L1">, memref<8x16xf16, "L1">)
        outs(%s : memref<4x16xf32, "L1">) domain [4, 16, 8]
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>] overwrite
    %p = mem.alloc : memref<4x16xf16, "L1">
    mem.map ins(%s : memref<4x16xf32, "L1">) outs(%p : memref<4x16xf16, "L1">)
        domain [4, 16] maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] {
    ^bb0(%x: f32):
      %y = math.exp %x : f32
      %z = arith.truncf %y : f32 to f16
      mem.yield %z : f16
    }
    mem.contract ins(%p, %v : memref<4x16xf16, "L1">, memref<16x8xf16, "L1">)
        outs(%o : memref<4x8xf32, "L1">) domain [4, 8, 16]
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>]
    %w = mem.dma %k[0, 0] to %q[0, 0] size [4, 8]
        : memref<48x16xf16, "L2"> to memref<4x8xf16, "L1">
    mem.wait %w
  } {stages = 3 : i64}
  func.return
}

// -----

// Slots share no place with anything, or products would wait for what has that.
// CHECK-LABEL: func.func @crowded
// CHECK:         mem.contract {{.*}} overwrite{{$}}
// CHECK:         mem.contract
func.func @crowded(%q: memref<4x8xf16, "L1">, %k: memref<48x16xf16, "L2">, %v: memref<16x8xf16, "L1">, %o: memref<4x8xf32, "L1">) {
  %large = mem.alloc : memref<129000xf16, "L1">
  mem.fill 0.0 into %large : memref<129000xf16, "L1">
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %six = arith.constant 6 : index
  scf.for %i = %zero to %six step %one {
    %k0 = mem.alloc : memref<8x16xf16, "L1">
    %t = mem.dma %k[%i, 0] to %k0[0, 0] size [8, 16]
        : memref<48x16xf16, "L2"> to memref<8x16xf16, "L1">
    mem.wait %t
    %s = mem.alloc : memref<4x16xf32, "L1">
    mem.contract ins(%q, %k0 : memref<4x8xf16, "L1">, memref<8x16xf16, "L1">)
        outs(%s : memref<4x16xf32, "L1">) domain [4, 16, 8]
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>] overwrite
    %p = mem.alloc : memref<4x16xf16, "L1">
    mem.map ins(%s : memref<4x16xf32, "L1">) outs(%p : memref<4x16xf16, "L1">)
        domain [4, 16] maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] {
    ^bb0(%x: f32):
      %y = math.exp %x : f32
      %z = arith.truncf %y : f32 to f16
      mem.yield %z : f16
    }
    %later = mem.alloc : memref<1200xf16, "L1">
    mem.fill 0.0 into %later : memref<1200xf16, "L1">
    mem.contract ins(%p, %v : memref<4x16xf16, "L1">, memref<16x8xf16, "L1">)
        outs(%o : memref<4x8xf32, "L1">) domain [4, 8, 16]
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>]
  } {stages = 3 : i64}
  mem.fill 0.0 into %large : memref<129000xf16, "L1">
  func.return
}
