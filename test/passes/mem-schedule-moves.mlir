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
