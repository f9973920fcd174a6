// RUN: tlf-opt %s -p mem-schedule-moves --split-input-file | filecheck %s

// A row is loaded before what is computed of the tile; the tile is stored before it is
// reduced.
// CHECK-LABEL: func.func @both
// CHECK:         mem.load %x
// CHECK-NEXT:    mem.load %b
// CHECK-NEXT:    mem.map
// CHECK:         mem.map
// CHECK:         mem.store {{.*}} to %y
// CHECK-NEXT:    mem.fill
// CHECK-NEXT:    mem.reduce
// CHECK:         mem.store {{.*}} to %s
func.func @both(%x: memref<64x64xf32, "L3">, %b: memref<64xf32, "L3">, %y: memref<64x64xf32, "L3">, %s: memref<64xf32, "L3">) {
  %0 = mem.load %x[0, 0] size [64, 64] : memref<64x64xf32, "L3"> -> tensor<64x64xf32>
  %1 = mem.map ins(%0 : tensor<64x64xf32>) domain [64, 64] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    mem.yield %e : f32
  } -> tensor<64x64xf32>
  %2 = mem.load %b[0] size [64] : memref<64xf32, "L3"> -> tensor<64xf32>
  %3 = mem.map ins(%1, %2 : tensor<64x64xf32>, tensor<64xf32>) domain [64, 64] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
  ^bb0(%a: f32, %c: f32):
    %e = arith.addf %a, %c : f32
    mem.yield %e : f32
  } -> tensor<64x64xf32>
  %4 = mem.fill 0.0 -> tensor<64xf32>
  %5 = mem.reduce ins(%3 : tensor<64x64xf32>) outs(%4 : tensor<64xf32>) domain [64, 64] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] {
  ^bb0(%a: f32, %c: f32):
    %e = arith.addf %a, %c : f32
    mem.yield %e : f32
  } -> tensor<64xf32>
  mem.store %3 to %y[0, 0] : tensor<64x64xf32> to memref<64x64xf32, "L3">
  mem.store %5 to %s[0] : tensor<64xf32> to memref<64xf32, "L3">
  func.return
}

// -----

// A load stays behind a store, which may be to what it reads.
// CHECK-LABEL: func.func @after
// CHECK:         mem.store
// CHECK-NEXT:    mem.load %b
// CHECK-NEXT:    mem.store
func.func @after(%x: memref<64x64xf32, "L3">, %b: memref<64xf32, "L3">, %y: memref<64x64xf32, "L3">, %s: memref<64xf32, "L3">) {
  %0 = mem.load %x[0, 0] size [64, 64] : memref<64x64xf32, "L3"> -> tensor<64x64xf32>
  mem.store %0 to %y[0, 0] : tensor<64x64xf32> to memref<64x64xf32, "L3">
  %1 = mem.load %b[0] size [64] : memref<64xf32, "L3"> -> tensor<64xf32>
  mem.store %1 to %s[0] : tensor<64xf32> to memref<64xf32, "L3">
  func.return
}

// -----

// What an iteration gathers is loaded before its product begins, with its place and what
// tells where; whole rows are loaded where they were.
// CHECK-LABEL: func.func @loop
// CHECK:         scf.for
// CHECK:           mem.load %k
// CHECK-NEXT:      mem.load %n
// CHECK-NEXT:      affine.apply
// CHECK-NEXT:      mem.load %b
// CHECK-NEXT:      mem.gather %t
// CHECK-NEXT:      mem.contract
// CHECK-NEXT:      mem.map
// CHECK:           mem.map
// CHECK:           mem.load %v
// CHECK-NEXT:      mem.contract
func.func @loop(%q: memref<64x64xf16, "L3">, %k: memref<512x64xf16, "L3">, %v: memref<512x64xf16, "L3">, %b: memref<64x1024xf16, "L3">, %n: memref<512xi64, "L3">, %t: memref<9xf16, "L3">, %o: memref<64x64xf16, "L3">) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %start = mem.fill 0.0 -> tensor<64x64xf16>
  %zero = mem.fill 0.0 -> tensor<64x64xf16>
  %query = mem.load %q[0, 0] size [64, 64] : memref<64x64xf16, "L3"> -> tensor<64x64xf16>
  %sum = scf.for %i = %c0 to %c512 step %c64 iter_args(%a = %start) -> (tensor<64x64xf16>) {
    %0 = mem.load %k[%i, 0] size [64, 64] : memref<512x64xf16, "L3"> -> tensor<64x64xf16>
    %1 = mem.contract ins(%query, %0 : tensor<64x64xf16>, tensor<64x64xf16>) outs(%zero : tensor<64x64xf16>) domain [64, 64, 64] maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] -> tensor<64x64xf16>
    %2 = mem.map ins(%1 : tensor<64x64xf16>) domain [64, 64] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
    ^bb0(%x: f16):
      %e = math.exp %x : f16
      mem.yield %e : f16
    } -> tensor<64x64xf16>
    %at = affine.apply affine_map<(d0) -> (d0 + 512)> (%i)
    %3 = mem.load %b[0, %at] map affine_map<(d0, d1) -> (0, d0 + d1)> size [64, 64] : memref<64x1024xf16, "L3"> -> tensor<64x64xf16>
    %4 = mem.load %n[%i] size [64] : memref<512xi64, "L3"> -> tensor<64xi64>
    %5 = mem.gather %t[0] axis 0 at %4 maps [affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>] size [64] fill 0.0 : memref<9xf16, "L3">, tensor<64xi64> -> tensor<64xf16>
    %6 = mem.map ins(%2, %3, %5 : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64xf16>) domain [64, 64] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
    ^bb0(%x: f16, %y: f16, %z: f16):
      %e = arith.addf %x, %y : f16
      %f = arith.addf %e, %z : f16
      mem.yield %f : f16
    } -> tensor<64x64xf16>
    %7 = mem.load %v[%i, 0] size [64, 64] : memref<512x64xf16, "L3"> -> tensor<64x64xf16>
    %8 = mem.contract ins(%6, %7 : tensor<64x64xf16>, tensor<64x64xf16>) outs(%a : tensor<64x64xf16>) domain [64, 64, 64] maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] -> tensor<64x64xf16>
    scf.yield %8 : tensor<64x64xf16>
  }
  mem.store %sum to %o[0, 0] : tensor<64x64xf16> to memref<64x64xf16, "L3">
  func.return
}

// -----

// Functions are scheduled however deep the calls are.
// CHECK-LABEL: func.func @inner
// CHECK:         mem.load %x
// CHECK-NEXT:    mem.load %b
// CHECK-NEXT:    mem.map
func.func @outer(%x: memref<64x64xf32, "L3">, %b: memref<64xf32, "L3">, %y: memref<64x64xf32, "L3">) {
  func.call @middle(%x, %b, %y) : (memref<64x64xf32, "L3">, memref<64xf32, "L3">, memref<64x64xf32, "L3">) -> ()
  func.return
}
func.func @middle(%x: memref<64x64xf32, "L3">, %b: memref<64xf32, "L3">, %y: memref<64x64xf32, "L3">) {
  func.call @inner(%x, %b, %y) : (memref<64x64xf32, "L3">, memref<64xf32, "L3">, memref<64x64xf32, "L3">) -> ()
  func.return
}
func.func @inner(%x: memref<64x64xf32, "L3">, %b: memref<64xf32, "L3">, %y: memref<64x64xf32, "L3">) {
  %0 = mem.load %x[0, 0] size [64, 64] : memref<64x64xf32, "L3"> -> tensor<64x64xf32>
  %1 = mem.map ins(%0 : tensor<64x64xf32>) domain [64, 64] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    mem.yield %e : f32
  } -> tensor<64x64xf32>
  %2 = mem.load %b[0] size [64] : memref<64xf32, "L3"> -> tensor<64xf32>
  %3 = mem.map ins(%1, %2 : tensor<64x64xf32>, tensor<64xf32>) domain [64, 64] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %a, %c : f32
    mem.yield %s : f32
  } -> tensor<64x64xf32>
  mem.store %3 to %y[0, 0] : tensor<64x64xf32> to memref<64x64xf32, "L3">
  func.return
}
