// RUN: tlf-opt %s --split-input-file --target npu -p convert-mem-to-npu --verify-diagnostics

// expected-error@+1 {{@f: expected planned arguments (`tlf.arguments`): run `mem-plan` first}}
func.func @f(%x: memref<4xf32, "L3">) {
  func.return
}

// -----

func.func @f() attributes {tlf.arguments = array<i64>} {
  %a = mem.alloc : memref<4xf32, "L1">
  // expected-error@+1 {{mem.alloc: expected a planned buffer, got one without an offset: run `mem-plan` first}}
  mem.fill 0.0 into %a : memref<4xf32, "L1">
  func.return
}

// -----

func.func @f(%x: memref<4xf32, "L3">) attributes {tlf.arguments = array<i64: 0>} {
  %a = mem.alloc at 0 : memref<4xf32, "L1">
  // expected-error@+1 {{mem.dma: the npu moves between L1 and L2, L2 and L3, got a move from L3 to L1}}
  %t = mem.dma %x[0] to %a[0] size [4] : memref<4xf32, "L3"> to memref<4xf32, "L1">
  mem.wait %t
  func.return
}

// -----

func.func @f() attributes {tlf.arguments = array<i64>} {
  %a = mem.alloc at 0 : memref<4xf32, "L2">
  %b = mem.alloc at 64 : memref<4xf32, "L2">
  // expected-error@+1 {{got a move from L2 to L2}}
  %t = mem.dma %a[0] to %b[0] size [4] : memref<4xf32, "L2"> to memref<4xf32, "L2">
  func.return
}

// -----

func.func @f() attributes {tlf.arguments = array<i64>} {
  %a = mem.alloc at 0 : memref<4xf32, "L2">
  // expected-error@+1 {{mem.fill: the npu computes in L1, got a buffer in L2}}
  mem.fill 0.0 into %a : memref<4xf32, "L2">
  func.return
}

// -----

func.func @f() attributes {tlf.arguments = array<i64>} {
  %a = mem.alloc at 0 : memref<4xf32, "L1">
  // expected-error@+1 {{mem.map: expected a body of one operation, got 2: run `mem-split-maps` first}}
  mem.map ins(%a : memref<4xf32, "L1">) outs(%a : memref<4xf32, "L1">) domain [4]
      maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
  ^bb0(%x: f32):
    %y = math.exp %x : f32
    %z = math.exp %y : f32
    mem.yield %z : f32
  }
  func.return
}

// -----

func.func @f() attributes {tlf.arguments = array<i64>} {
  %a = mem.alloc at 0 : memref<4xf32, "L1">
  mem.map ins(%a : memref<4xf32, "L1">) outs(%a : memref<4xf32, "L1">) domain [4]
      maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
  ^bb0(%x: f32):
    // expected-error@+1 {{the npu has no vector operation for math.fma}}
    %y = math.fma %x, %x, %x : f32
    mem.yield %y : f32
  }
  func.return
}

// -----

func.func @f() attributes {tlf.arguments = array<i64>} {
  %a = mem.alloc at 0 : memref<4xf32, "L1">
  %m = mem.alloc at 64 : memref<4xi1, "L1">
  mem.map ins(%a : memref<4xf32, "L1">) outs(%m : memref<4xi1, "L1">) domain [4]
      maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
  ^bb0(%x: f32):
    // expected-error@+1 {{arith.cmpf: the npu compares by oeq, ogt, oge, olt, ole, une, got ueq}}
    %y = arith.cmpf ueq, %x, %x : f32
    mem.yield %y : i1
  }
  func.return
}

// -----

func.func @f() attributes {tlf.arguments = array<i64>} {
  %a = mem.alloc at 0 : memref<4xf32, "L1">
  %s = mem.alloc at 64 : memref<f32, "L1">
  // expected-error@+1 {{mem.reduce: expected to combine elements of an input by arith.addf, got a computed value: map first}}
  mem.reduce ins(%a : memref<4xf32, "L1">) outs(%s : memref<f32, "L1">) domain [4]
      maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>] {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %x : f32
    %w = arith.addf %z, %y : f32
    mem.yield %w : f32
  }
  func.return
}

// -----

func.func @f() attributes {tlf.arguments = array<i64>} {
  %a = mem.alloc at 0 : memref<4xf32, "L1">
  %s = mem.alloc at 64 : memref<f16, "L1">
  // expected-error@+1 {{mem.reduce: the npu cannot accumulate f32 in f16}}
  mem.reduce ins(%a : memref<4xf32, "L1">) outs(%s : memref<f16, "L1">) domain [4]
      maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>] {
  ^bb0(%x: f32, %y: f16):
    %z = arith.truncf %x : f32 to f16
    %w = arith.addf %z, %y : f16
    mem.yield %w : f16
  }
  func.return
}

// -----

func.func @f() attributes {tlf.arguments = array<i64>} {
  %a = mem.alloc at 0 : memref<4xi32, "L1">
  // expected-error@+1 {{mem.contract: the npu multiplies bf16, f16, f32, got i32}}
  mem.contract ins(%a, %a : memref<4xi32, "L1">, memref<4xi32, "L1">)
      outs(%a : memref<4xi32, "L1">) domain [4]
      maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
  func.return
}

// -----

func.func @f() attributes {tlf.arguments = array<i64>} {
  %a = mem.alloc at 0 : memref<4xbf16, "L1">
  %b = mem.alloc at 64 : memref<4xi32, "L1">
  // expected-error@+1 {{mem.contract: the npu cannot accumulate bf16 in i32}}
  mem.contract ins(%a, %a : memref<4xbf16, "L1">, memref<4xbf16, "L1">)
      outs(%b : memref<4xi32, "L1">) domain [4]
      maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
  func.return
}

// -----

func.func @f(%x: memref<4xf32, "L3">) attributes {tlf.arguments = array<i64: 0>} {
  // expected-error@+1 {{mem.load: expected buffers, got tensors}}
  %v = mem.load %x[0] size [4] : memref<4xf32, "L3"> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: memref<4xf32, "L3">) attributes {tlf.arguments = array<i64: 0>} {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{memref.load: the npu has no instruction for it}}
  %v = memref.load %x[%c0] : memref<4xf32, "L3">
  func.return
}

// -----

func.func @f() attributes {tlf.arguments = array<i64>} {
  %a = mem.alloc at 0 : memref<8xf32, "L1">
  %b = memref.subview %a[4] [4] [1]
      : memref<8xf32, "L1"> to memref<4xf32, strided<[1], offset: 4>, "L1">
  // expected-error@+1 {{memref.reinterpret_cast: expected an allocated buffer, got a subview}}
  %c = memref.reinterpret_cast %b to offset: [0], sizes: [2, 2], strides: [2, 1]
      : memref<4xf32, strided<[1], offset: 4>, "L1"> to memref<2x2xf32, "L1">
  mem.fill 0.0 into %c : memref<2x2xf32, "L1">
  func.return
}

// -----

func.func @f() attributes {tlf.arguments = array<i64>} {
  %a = mem.alloc at 0 : memref<8xf32, "L1">
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%b = %a) -> (memref<8xf32, "L1">) {
    // expected-error@+1 {{cannot resolve the address of a loop-carried buffer}}
    mem.fill 0.0 into %b : memref<8xf32, "L1">
    scf.yield %b : memref<8xf32, "L1">
  }
  func.return
}

// -----

func.func @f() attributes {tlf.arguments = array<i64>} {
  %c0 = arith.constant -4 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c4 step %c1 {
    // expected-error@+1 {{arith.remsi: expected operands that cannot be negative: use `affine.apply` or `arith.floordivsi`}}
    %r = arith.remsi %i, %c4 : index
    scf.yield
  }
  func.return
}

// -----

// expected-error@+1 {{memref.global @c: expected a planned global: run `mem-plan` first}}
"memref.global"() <{sym_name = "c", sym_visibility = "private", type = memref<4xf32, "L3">,
    initial_value = dense<1.0> : tensor<4xf32>}> : () -> ()
func.func @f() attributes {tlf.arguments = array<i64>} {
  func.return
}

// -----

func.func @f(%x: memref<4xf32, "L3">) attributes {tlf.arguments = array<i64: 0>} {
  %a = mem.alloc at 0 : memref<4xf32, "L2">
  // expected-error@+1 {{expected an instruction issued ahead in the body of a loop}}
  %t = mem.dma %x[0] to %a[0] size [4] ahead 1 : memref<4xf32, "L3"> to memref<4xf32, "L2">
  mem.wait %t
  func.return
}

// -----

func.func @f(%x: memref<4xf32, "L3">) attributes {tlf.arguments = array<i64: 0>} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %a = mem.alloc at 0 : memref<1xf32, "L2">
  %b = mem.alloc at 0 : memref<1xf32, "L1">
  scf.for %i = %zero to %four step %one {
    // expected-error@+1 {{mem.dma: expected a move that can be issued 1 iterations ahead, got one that depends on an instruction 1 iterations earlier}}
    %t = mem.dma %x[%i] to %a[0] size [1] ahead 1 : memref<4xf32, "L3"> to memref<1xf32, "L2">
    mem.wait %t
    %u = mem.dma %a[0] to %b[0] size [1] : memref<1xf32, "L2"> to memref<1xf32, "L1">
    mem.wait %u
  }
  func.return
}

// -----

func.func @f(%x: memref<9x4xf32, "L3">) attributes {tlf.arguments = array<i64: 0>} {
  %n = mem.alloc at 0 : memref<5xi64, "L1">
  %a = mem.alloc at 64 : memref<5x4xf32, "L1">
  // expected-error@+1 {{mem.dma_gather: the npu moves between L1 and L2, L2 and L3, got a move from L3 to L1}}
  %t = mem.dma_gather %x[0, 0] axis 0 at %n to %a
      maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [5, 4]
      : memref<9x4xf32, "L3">, memref<5xi64, "L1"> to memref<5x4xf32, "L1">
  mem.wait %t
  func.return
}

// -----

func.func @f() attributes {tlf.arguments = array<i64>} {
  %x = mem.alloc at 0 : memref<9x4xf32, "L2">
  %n = mem.alloc at 0 : memref<5xi64, "L1">
  %a = mem.alloc at 64 : memref<5x4xf32, "L1">
  // expected-error@+1 {{mem.dma_gather: the npu has no indexed moves into L1}}
  %t = mem.dma_gather %x[0, 0] axis 0 at %n to %a
      maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [5, 4]
      : memref<9x4xf32, "L2">, memref<5xi64, "L1"> to memref<5x4xf32, "L1">
  mem.wait %t
  func.return
}

// -----

// Places behind the end, two apart.
func.func @f(%x: memref<8x8xf32, "L3">) attributes {tlf.arguments = array<i64: 0>} {
  %n = mem.alloc at 0 : memref<4xi64, "L2">
  %a = mem.alloc at 64 : memref<4x8xf32, "L2">
  // expected-error@+1 {{expected one axis of the source along each dimension}}
  %t = mem.dma_gather %x[0, 0] axis 0 at %n to %a
      maps [affine_map<(d0, d1) -> (0, d1 * 2)>, affine_map<(d0, d1) -> (d0)>] size [4, 8] fill 0.0
      : memref<8x8xf32, "L3">, memref<4xi64, "L2"> to memref<4x8xf32, "L2">
  mem.wait %t
  func.return
}

// -----

// Places along an axis that two dimensions lead to.
func.func @f(%x: memref<8x8xf32, "L3">) attributes {tlf.arguments = array<i64: 0>} {
  %n = mem.alloc at 0 : memref<4xi64, "L2">
  %a = mem.alloc at 64 : memref<4x8xf32, "L2">
  // expected-error@+1 {{expected one axis of the source along each dimension}}
  %t = mem.dma_gather %x[0, 0] axis 0 at %n to %a
      maps [affine_map<(d0, d1) -> (0, d0 + d1)>, affine_map<(d0, d1) -> (d0)>] size [4, 8] fill 0.0
      : memref<8x8xf32, "L3">, memref<4xi64, "L2"> to memref<4x8xf32, "L2">
  mem.wait %t
  func.return
}
