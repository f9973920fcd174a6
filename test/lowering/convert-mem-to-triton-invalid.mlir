// RUN: tlf-opt %s -p convert-mem-to-triton --split-input-file --verify-diagnostics

func.func @extent(%x: memref<100xf32, "L3">) {
  // expected-error@+1 {{mem.load: expected tiles with extents that are powers of two, got 48 in tensor<48xf32>}}
  %v = mem.load %x[0] size [48] : memref<100xf32, "L3"> -> tensor<48xf32>
  mem.store %v to %x[0] : tensor<48xf32> to memref<100xf32, "L3">
  func.return
}

// -----

func.func @elements(%x: memref<100xf32, "L3">) {
  // expected-error@+1 {{mem.load: expected tiles of at most 1048576 elements, got 2097152 in tensor<2097152xf32>}}
  %v = mem.load %x[0] size [2097152] : memref<100xf32, "L3"> -> tensor<2097152xf32>
  mem.store %v to %x[0] : tensor<2097152xf32> to memref<100xf32, "L3">
  func.return
}

// -----

func.func @element_type(%x: memref<8xi4, "L3">) {
  // expected-error@+1 {{mem.load: triton has no element type i4}}
  %v = mem.load %x[0] size [8] : memref<8xi4, "L3"> -> tensor<8xi4>
  mem.store %v to %x[0] : tensor<8xi4> to memref<8xi4, "L3">
  func.return
}

// -----

func.func @window(%x: memref<16xf32, "L3">, %y: memref<8xf32, "L3">) {
  %v = mem.load %x[0] size [16] : memref<16xf32, "L3"> -> tensor<16xf32>
  %s = mem.load %y[0] size [8] : memref<8xf32, "L3"> -> tensor<8xf32>
  // expected-error@+1 {{mem.reduce: cannot read a value through the map (d0, d1) -> ((d0 + d1)): triton cannot slice a value}}
  %r = mem.reduce ins(%v : tensor<16xf32>) outs(%s : tensor<8xf32>) domain [8, 4] maps [affine_map<(d0, d1) -> (d0 + d1)>, affine_map<(d0, d1) -> (d0)>] {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    mem.yield %c : f32
  } -> tensor<8xf32>
  mem.store %r to %y[0] : tensor<8xf32> to memref<8xf32, "L3">
  func.return
}

// -----

func.func @large_product(%x: memref<1024x1024xf64, "L3">) {
  %v = mem.load %x[0, 0] size [1024, 1024] : memref<1024x1024xf64, "L3"> -> tensor<1024x1024xf64>
  // expected-error@+1 {{mem.contract: expected intermediate tiles of at most 1048576 elements, got 1073741824}}
  %r = mem.contract ins(%v, %v : tensor<1024x1024xf64>, tensor<1024x1024xf64>) outs(%v : tensor<1024x1024xf64>) domain [1024, 1024, 1024] maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] -> tensor<1024x1024xf64>
  mem.store %r to %x[0, 0] : tensor<1024x1024xf64> to memref<1024x1024xf64, "L3">
  func.return
}

// -----

func.func @scalar(%x: memref<8xi32, "L3">) {
  %v = mem.load %x[0] size [8] : memref<8xi32, "L3"> -> tensor<8xi32>
  %r = mem.map ins(%v : tensor<8xi32>) domain [8] maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
  ^bb0(%a: i32):
    // expected-error@+1 {{triton has no scalar operation math.ctpop}}
    %b = math.ctpop %a : i32
    mem.yield %b : i32
  } -> tensor<8xi32>
  mem.store %r to %x[0] : tensor<8xi32> to memref<8xi32, "L3">
  func.return
}

// -----

func.func @buffers(%x: memref<8xf32, "L3">) {
  // expected-error@+1 {{mem.fill: expected values on triton, got buffers in an inner level}}
  mem.fill 0.0 into %x : memref<8xf32, "L3">
  func.return
}

// -----

func.func @moves(%x: memref<8xf32, "L3">, %y: memref<8xf32, "L3">) {
  // expected-error@+1 {{triton does not support mem.dma}}
  %t = mem.dma %x[0] to %y[0] size [8] : memref<8xf32, "L3"> to memref<8xf32, "L3">
  func.return
}

// -----

func.func @between(%x: memref<8xf32, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // expected-error@+1 {{mem.load: a kernel cannot return a value of type tensor<8xf32> to another kernel}}
  %v = mem.load %x[0] size [8] : memref<8xf32, "L3"> -> tensor<8xf32>
  "scf.parallel"(%zero, %one, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    mem.store %v to %x[%i] : tensor<8xf32> to memref<8xf32, "L3">
    scf.reduce
  }) {mapping = "grid"} : (index, index, index) -> ()
  func.return
}

// -----

func.func @dynamic(%x: memref<8xf32, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 8 : index
  scf.for %h = %one to %n step %one {
    // expected-error@+1 {{scf.parallel: expected constant bounds of a grid}}
    "scf.parallel"(%zero, %h, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%i: index):
      %v = mem.load %x[%i] size [1] : memref<8xf32, "L3"> -> tensor<1xf32>
      mem.store %v to %x[%i] : tensor<1xf32> to memref<8xf32, "L3">
      scf.reduce
    }) {mapping = "grid"} : (index, index, index) -> ()
  }
  func.return
}

// -----

func.func @nested(%x: memref<8xf32, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  "scf.parallel"(%zero, %one, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    // expected-error@+1 {{expected no grid loop inside of a grid loop}}
    "scf.parallel"(%zero, %one, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb1(%j: index):
      scf.reduce
    }) {mapping = "grid"} : (index, index, index) -> ()
    scf.reduce
  }) {mapping = "grid"} : (index, index, index) -> ()
  func.return
}

// -----

func.func @diagonal(%x: memref<100xf32, "L3">, %n: memref<4x4xi64, "L3">) {
  %m = mem.load %n[0, 0] size [4, 4] : memref<4x4xi64, "L3"> -> tensor<4x4xi64>
  // expected-error@+1 {{mem.gather: cannot read the diagonal of a value: (d0) -> (d0, d0)}}
  %v = mem.gather %x[0] axis 0 at %m maps [affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0, d0)>] size [4] : memref<100xf32, "L3">, tensor<4x4xi64> -> tensor<4xf32>
  mem.store %v to %x[0] : tensor<4xf32> to memref<100xf32, "L3">
  func.return
}

// -----

func.func @programs(%x: memref<64xf32, "L3">) attributes {tlf.results = 0 : i64} {
  %zero = arith.constant 0 : index
  %n = arith.constant 64 : index
  %step = arith.constant 32 : index
  // expected-error@+1 {{scf.parallel: expected a positive number of programs, got 0 : i64}}
  "scf.parallel"(%zero, %n, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = mem.load %x[%i] size [32] : memref<64xf32, "L3"> -> tensor<32xf32>
    mem.store %v to %x[%i] : tensor<32xf32> to memref<64xf32, "L3">
    scf.reduce
  }) {mapping = "persistent", programs = 0 : i64} : (index, index, index) -> ()
  func.return
}
