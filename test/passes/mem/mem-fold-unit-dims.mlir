// RUN: tlf-opt %s -p mem-fold-unit-dims --split-input-file | filecheck %s

// Loads leave axes of one element out, domains have none, and a store gets them back.
// CHECK-LABEL: func.func @rows
// CHECK:         [[V:%.*]] = mem.load %x[%i, %j, 0] map affine_map<(d0) -> (0, 0, d0)> size [16] : memref<4x8x16xf32, "L3"> -> tensor<16xf32>
// CHECK:         [[Z:%.*]] = mem.fill 0.0 -> tensor<1xf32>
// CHECK:         [[S:%.*]] = mem.reduce ins([[V]] : tensor<16xf32>) outs([[Z]] : tensor<1xf32>) domain [16] maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (0)>]
// CHECK:         [[D:%.*]] = mem.map ins([[V]], [[S]] : tensor<16xf32>, tensor<1xf32>) domain [16] maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>]
// CHECK:         [[W:%.*]] = mem.map ins([[D]] : tensor<16xf32>) domain [1, 1, 16] maps [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK:         mem.store [[W]] to %y[%i, %j, 0] : tensor<1x1x16xf32> to memref<4x8x16xf32, "L3">
func.func @rows(%x: memref<4x8x16xf32, "L3">, %y: memref<4x8x16xf32, "L3">, %i: index, %j: index) {
  %v = mem.load %x[%i, %j, 0] size [1, 1, 16] : memref<4x8x16xf32, "L3"> -> tensor<1x1x16xf32>
  %z = mem.fill 0.0 -> tensor<1x1x1xf32>
  %s = mem.reduce ins(%v : tensor<1x1x16xf32>) outs(%z : tensor<1x1x1xf32>) domain [1, 1, 16] maps [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>] {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    mem.yield %c : f32
  } -> tensor<1x1x1xf32>
  %d = mem.map ins(%v, %s : tensor<1x1x16xf32>, tensor<1x1x1xf32>) domain [1, 1, 16] maps [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>] {
  ^bb0(%a: f32, %b: f32):
    %c = arith.subf %a, %b : f32
    mem.yield %c : f32
  } -> tensor<1x1x16xf32>
  mem.store %d to %y[%i, %j, 0] : tensor<1x1x16xf32> to memref<4x8x16xf32, "L3">
  func.return
}

// -----

// What a loop carries has as few axes, and so has a mask where its place is known to lie
// inside along the others.
// CHECK-LABEL: func.func @loop
// CHECK:         [[R:%.*]] = scf.for %k = {{.*}} iter_args([[A:%.*]] = {{.*}}) -> (tensor<8xf32>)
// CHECK:           [[M:%.*]] = mem.mask {{.*}} at [5] bounds [12] fill 1.0 : tensor<8xf32> -> tensor<8xf32>
// CHECK:           mem.map ins([[A]], [[M]] : tensor<8xf32>, tensor<8xf32>) domain [8]
func.func @loop(%x: memref<4x12xf32, "L3">, %y: memref<4x12xf32, "L3">) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %z = mem.fill 0.0 -> tensor<1x8xf32>
  %r = scf.for %k = %0 to %4 step %1 iter_args(%a = %z) -> (tensor<1x8xf32>) {
    %v = mem.load %x[%k, 5] size [1, 8] : memref<4x12xf32, "L3"> -> tensor<1x8xf32>
    %m = mem.mask %v at [%k, 5] bounds [4, 12] fill 1.0 : tensor<1x8xf32> -> tensor<1x8xf32>
    %s = mem.map ins(%a, %m : tensor<1x8xf32>, tensor<1x8xf32>) domain [1, 8] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
    ^bb0(%b: f32, %c: f32):
      %d = arith.addf %b, %c : f32
      mem.yield %d : f32
    } -> tensor<1x8xf32>
    scf.yield %s : tensor<1x8xf32>
  }
  mem.store %r to %y[0, 0] : tensor<1x8xf32> to memref<4x12xf32, "L3">
  func.return
}

// -----

// A mask whose place may be outside keeps its axes.
// CHECK-LABEL: func.func @outside
// CHECK:         [[W:%.*]] = mem.map ins({{.*}} : tensor<8xf32>) domain [1, 8]
// CHECK:         [[M:%.*]] = mem.mask [[W]] at [%i, 0] bounds [4, 8] fill 1.0 : tensor<1x8xf32> -> tensor<1x8xf32>
// CHECK:         mem.map ins([[M]] : tensor<1x8xf32>) domain [8] maps [affine_map<(d0) -> (0, d0)>, affine_map<(d0) -> (d0)>]
func.func @outside(%x: memref<4x8xf32, "L3">, %y: memref<4x8xf32, "L3">, %i: index) {
  %v = mem.load %x[%i, 0] size [1, 8] : memref<4x8xf32, "L3"> -> tensor<1x8xf32>
  %m = mem.mask %v at [%i, 0] bounds [4, 8] fill 1.0 : tensor<1x8xf32> -> tensor<1x8xf32>
  mem.store %m to %y[0, 0] : tensor<1x8xf32> to memref<4x8xf32, "L3">
  func.return
}

// -----

// A scan keeps its dimension, under its new number.
// CHECK-LABEL: func.func @scan
// CHECK:         mem.scan ins({{.*}} : tensor<4x8xf32>) dim 1 domain [4, 8] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
func.func @scan(%x: memref<4x1x8xf32, "L3">, %y: memref<4x1x8xf32, "L3">) {
  %v = mem.load %x[0, 0, 0] size [4, 1, 8] : memref<4x1x8xf32, "L3"> -> tensor<4x1x8xf32>
  %s = mem.scan ins(%v : tensor<4x1x8xf32>) dim 2 domain [4, 1, 8] maps [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>] {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    mem.yield %c : f32
  } -> tensor<4x1x8xf32>
  mem.store %s to %y[0, 0, 0] : tensor<4x1x8xf32> to memref<4x1x8xf32, "L3">
  func.return
}

// -----

// A scan along a unit dimension keeps its rank.
// CHECK-LABEL: func.func @unit_scan
// CHECK:         mem.scan ins({{.*}} : tensor<4x1xf32>) dim 1 domain [4, 1]
func.func @unit_scan(%x: memref<4x1xf32, "L3">, %y: memref<4x1xf32, "L3">) {
  %v = mem.load %x[0, 0] size [4, 1] : memref<4x1xf32, "L3"> -> tensor<4x1xf32>
  %s = mem.scan ins(%v : tensor<4x1xf32>) dim 1 domain [4, 1] maps [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>] {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    mem.yield %c : f32
  } -> tensor<4x1xf32>
  mem.store %s to %y[0, 0] : tensor<4x1xf32> to memref<4x1xf32, "L3">
  func.return
}

// -----

// A product reads pixels as they are loaded, without a copy.
// CHECK-LABEL: func.func @pixels
// CHECK:         [[X:%.*]] = mem.im2col %x
// CHECK-SAME:      -> tensor<1x2x4x8xf32>
// CHECK-NEXT:    [[W:%.*]] = mem.load %w
// CHECK-NEXT:    [[A:%.*]] = mem.fill
// CHECK-NEXT:    [[Y:%.*]] = mem.contract ins([[X]], [[W]] :
// CHECK-SAME:      domain [2, 4, 8, 8] maps [affine_map<(d0, d1, d2, d3) -> (0, d0, d1, d3)>
func.func @pixels(%x: memref<3x4x4x8xf32, "L3">, %w: memref<8x8xf32, "L3">, %y: memref<3x2x4x8xf32, "L3">) {
  %0 = mem.im2col %x[1, 0, 0, 0] map affine_map<(d0, d1, d2, d3) -> (d0, (d1 + 1), d2, d3)> basis [[3], [3], [4], [8]] size [1, 2, 4, 8] : memref<3x4x4x8xf32, "L3"> -> tensor<1x2x4x8xf32>
  %1 = mem.load %w[0, 0] map affine_map<(d0, d1) -> (d0, d1)> size [8, 8] : memref<8x8xf32, "L3"> -> tensor<8x8xf32>
  %2 = mem.fill 0.0 -> tensor<1x2x4x8xf32>
  %3 = mem.contract ins(%0, %1 : tensor<1x2x4x8xf32>, tensor<8x8xf32>) outs(%2 : tensor<1x2x4x8xf32>) domain [1, 2, 4, 8, 8]
      maps [affine_map<(b, h, w, n, k) -> (b, h, w, k)>, affine_map<(b, h, w, n, k) -> (k, n)>, affine_map<(b, h, w, n, k) -> (b, h, w, n)>] -> tensor<1x2x4x8xf32>
  mem.store %3 to %y[1, 0, 0, 0] : tensor<1x2x4x8xf32> to memref<3x2x4x8xf32, "L3">
  func.return
}
